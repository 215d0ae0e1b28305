package org.harnesslearning.standalone;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noFields;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** Rules that hold over all modules; each failure names the classes. */
class ArchitectureTest {
    private static final String ROOT = "org.harnesslearning.";
    private static final String[] SERVICES = {"gateway", "proposer", "executor", "solver", "trainer"};

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("org.harnesslearning");

    private static String[] packages(String... names) {
        String[] packages = new String[names.length];
        for (int i = 0; i < names.length; i++) {
            packages[i] = ROOT + names[i] + "..";
        }
        return packages;
    }

    @Test
    void services_do_not_depend_on_each_other() {
        for (String service : SERVICES) {
            for (String other : SERVICES) {
                if (!service.equals(other)) {
                    noClasses()
                            .that()
                            .resideInAPackage(ROOT + service + "..")
                            .should()
                            .dependOnClassesThat()
                            .resideInAPackage(ROOT + other + "..")
                            .allowEmptyShould(true)
                            .check(CLASSES);
                }
            }
        }
    }

    @Test
    void only_the_solver_and_the_trainer_use_the_model_runtime() {
        noClasses()
                .that()
                .resideOutsideOfPackages(packages("llm", "solver", "trainer", "benchmarks"))
                .should()
                .dependOnClassesThat()
                .resideInAPackage(ROOT + "llm..")
                .check(CLASSES);
        // The trainer reads the same checkpoints and adapters, and the same chat templates and tokens, and launches
        // kernels of its own; it does not serve.
        noClasses()
                .that()
                .resideInAPackage(ROOT + "trainer..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        packages("llm.engine", "llm.graph", "llm.product", "llm.ggml", "llm.vnni", "llm.sampling"))
                .check(CLASSES);
    }

    @Test
    void only_the_trainer_uses_the_training_library() {
        noClasses()
                .that()
                .resideOutsideOfPackages(packages("trainer", "benchmarks"))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.bytedeco.pytorch..")
                .check(CLASSES);
    }

    @Test
    void libraries_depend_downwards_only() {
        noClasses()
                .that()
                .resideInAPackage(ROOT + "contracts..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(packages(
                        "gateway", "proposer", "executor", "solver", "trainer", "standalone", "llm", "tasks", "store"))
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(ROOT + "llm..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(packages(
                        "gateway",
                        "proposer",
                        "executor",
                        "solver",
                        "trainer",
                        "standalone",
                        "tasks",
                        "store",
                        "contracts"))
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAnyPackage(packages("tasks", "store"))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        packages("gateway", "proposer", "executor", "solver", "trainer", "standalone", "llm"))
                .check(CLASSES);
    }

    @Test
    void the_command_line_knows_the_public_api_only() {
        noClasses()
                .that()
                .resideInAPackage(ROOT + "standalone.cli..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(packages("gateway", "proposer", "executor", "solver", "trainer", "store", "tasks"))
                .check(CLASSES);
    }

    @Test
    void time_comes_from_an_injected_clock() {
        noClasses()
                .should()
                .callMethod(Instant.class, "now")
                .orShould()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(LocalDateTime.class, "now")
                .orShould()
                .callMethod(OffsetDateTime.class, "now")
                .check(CLASSES);
    }

    @Test
    void nothing_is_injected_into_fields() {
        noFields()
                .should()
                .beAnnotatedWith("org.springframework.beans.factory.annotation.Autowired")
                .orShould()
                .beAnnotatedWith("jakarta.inject.Inject")
                .orShould()
                .beAnnotatedWith("org.springframework.beans.factory.annotation.Value")
                .check(CLASSES);
    }

    @Test
    void static_fields_are_constants() {
        fields().that()
                .areStatic()
                .and()
                .doNotHaveName("$VALUES")
                .should()
                .beFinal()
                .check(CLASSES);
    }

    @Test
    void every_package_is_null_marked() {
        Set<String> unmarked = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            JavaPackage in = type.getPackage();
            if (!in.isAnnotatedWith(NullMarked.class)) {
                unmarked.add(in.getName());
            }
        }
        assertThat(unmarked).isEmpty();
    }

    @Test
    void packages_are_named_after_what_they_are_for() {
        classes()
                .should()
                .resideOutsideOfPackages(
                        "..impl..", "..util..", "..utils..", "..dto..", "..controller..", "..service..")
                .check(CLASSES);
    }
}
