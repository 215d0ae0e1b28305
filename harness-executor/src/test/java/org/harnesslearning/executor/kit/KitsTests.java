package org.harnesslearning.executor.kit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.util.unit.DataSize;

class KitsTests {
    private static final String SCHEMA =
            "{\"type\": \"object\", \"properties\": {\"article\": {\"type\": \"string\", \"maxLength\": 9}},"
                    + " \"required\": [\"article\"], \"additionalProperties\": false}";

    @TempDir
    Path folder;

    private static KitSettings bound(Map<String, Object> properties) {
        Map<String, Object> prefixed = new HashMap<>();
        properties.forEach((name, value) -> prefixed.put("executor." + name, value));
        return new Binder(new MapConfigurationPropertySource(prefixed)).bindOrCreate("executor", KitSettings.class);
    }

    private static Kits kits(Map<String, Object> properties) {
        return new Kits(bound(properties));
    }

    @Test
    void settings_have_their_defaults_and_map_every_key() {
        assertThat(bound(Map.of())).isEqualTo(new KitSettings(Map.of(), Map.of(), 20_000));
        URI url = URI.create("http://tools.example.org/price");
        assertThat(bound(Map.of("tools.prices.url", url)).tools())
                .isEqualTo(Map.of(
                        "prices",
                        new KitSettings.Tool(
                                url,
                                KitSettings.Method.POST,
                                "",
                                null,
                                SandboxTool.Answer.JSON,
                                "1",
                                Map.of(),
                                Map.of(),
                                Duration.ofSeconds(10),
                                3,
                                DataSize.ofKilobytes(64),
                                16,
                                8)));
        assertThat(bound(Map.ofEntries(
                        Map.entry("tool-calls-per-run", "9"),
                        Map.entry("images.frames.image", "i:1"),
                        Map.entry("images.frames.description", "frames"),
                        Map.entry("tools.price-list.url", url),
                        Map.entry("tools.price-list.method", "get"),
                        Map.entry("tools.price-list.description", "d"),
                        Map.entry("tools.price-list.arguments", SCHEMA),
                        Map.entry("tools.price-list.answer", "text"),
                        Map.entry("tools.price-list.version", "2"),
                        Map.entry("tools.price-list.headers.X-Shop", "s"),
                        Map.entry("tools.price-list.secret-headers.Authorization", "/run/secrets/shop"),
                        Map.entry("tools.price-list.timeout", "3s"),
                        Map.entry("tools.price-list.attempts", "4"),
                        Map.entry("tools.price-list.max-response", "5KB"),
                        Map.entry("tools.price-list.calls-per-question", "6"),
                        Map.entry("tools.price-list.parallel", "7"))))
                .isEqualTo(new KitSettings(
                        Map.of("frames", new KitSettings.Image("i:1", "frames")),
                        Map.of(
                                "price-list",
                                new KitSettings.Tool(
                                        url,
                                        KitSettings.Method.GET,
                                        "d",
                                        SCHEMA,
                                        SandboxTool.Answer.TEXT,
                                        "2",
                                        Map.of("X-Shop", "s"),
                                        Map.of("Authorization", Path.of("/run/secrets/shop")),
                                        Duration.ofSeconds(3),
                                        4,
                                        DataSize.ofKilobytes(5),
                                        6,
                                        7)),
                        9));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "images.x.image | i:latest | other than latest",
                "images.x.image | registry:5000/i | other than latest",
                "images.x.image | i | other than latest",
                "tools.My_tool.url | http://h/ | small letters, digits and dashes",
                "tools.t.url | ftp://h/ | executor.tools.t.url is an http or https address",
                "tools.t.url | http://user:pw@h/ | executor.tools.t.url is an http or https address",
                "tools.t.url | /path | executor.tools.t.url is an http or https address",
                "tools.t.arguments | {\"type\": | executor.tools.t.arguments is not JSON",
                "tools.t.arguments | [1] | executor.tools.t.arguments is a JSON Schema",
                "tools.t.arguments | {\"type\": \"objekt\"} | executor.tools.t.arguments is no JSON Schema",
                "tools.t.timeout | 0s | timeout is above zero",
                "tools.t.attempts | 0 | at least 1",
                "tools.t.max-response | 2MB | at most 1 MB",
                "tools.t.headers.Host | other | Host is no header that can be set",
                "tools.t.headers.Idempotency-Key | x | Idempotency-Key is no header that can be set",
                "tools.t.secret-headers.Authorization | /nowhere/token | the file /nowhere/token can't be read"
            })
    void a_wrong_setting_stops_the_start_and_is_named(String name, String value, String message) {
        Map<String, Object> properties = new HashMap<>(Map.of(name, value));
        if (name.startsWith("tools.t.")) {
            properties.putIfAbsent("tools.t.url", "http://h/");
        }
        assertThatThrownBy(() -> kits(properties)).hasStackTraceContaining(message);
    }

    @Test
    void an_image_with_a_tag_or_a_digest_is_taken() {
        String digest = "registry:5000/team/i@sha256:" + "0".repeat(64);
        assertThat(kits(Map.of("images.a.image", "registry:5000/team/i:1.2", "images.b.image", digest))
                        .offer()
                        .images())
                .containsExactly(
                        new SandboxImage("a", "registry:5000/team/i:1.2", ""), new SandboxImage("b", digest, ""));
    }

    @Test
    void what_is_offered_holds_no_address_and_no_credential() throws Exception {
        Path token = Files.writeString(folder.resolve("token"), "Bearer hush-hush\n");
        Kits kits = kits(Map.of(
                "tools.prices.url",
                "http://inside.example.org/price",
                "tools.prices.description",
                "price of an article",
                "tools.prices.arguments",
                SCHEMA,
                "tools.prices.secret-headers.Authorization",
                token));
        SandboxOffer offer = kits.offer();
        assertThat(Json.write(offer))
                .contains("price of an article", "maxLength")
                .doesNotContain("inside.example.org", "hush");
        Tool tool = kits.tool("prices").orElseThrow();
        assertThat(tool.headers()).isEqualTo(Map.of("Authorization", "Bearer hush-hush"));
        assertThat(tool).hasToString("prices");
        assertThat(tool.withoutSecrets("you sent Bearer hush-hush, hush-hush!"))
                .isEqualTo("you sent [removed], [removed]!");
    }

    @Test
    void arguments_are_held_to_the_schema() {
        Tool tool = kits(Map.of("tools.t.url", "http://h/", "tools.t.arguments", SCHEMA))
                .tool("t")
                .orElseThrow();
        assertThat(tool.fault(Json.mapper().readTree("{\"article\": \"lamp\"}")))
                .isNull();
        assertThat(tool.fault(Json.mapper().readTree("{}"))).contains("article", "required");
        assertThat(tool.fault(Json.mapper().readTree("{\"article\": 7}"))).contains("/article");
        assertThat(tool.fault(Json.mapper().readTree("{\"article\": \"lamp\", \"url\": \"http://x\"}")))
                .contains("url");
        assertThat(tool.fault(Json.mapper().readTree("{\"article\": \"a very long one\"}")))
                .contains("/article");
    }

    @Test
    void a_tools_hash_follows_what_decides_about_its_answers_and_not_where_it_lives() {
        Map<String, Object> given = Map.of("tools.t.url", "http://h/", "tools.t.arguments", SCHEMA);
        String hash = hash(given);
        assertThat(hash(with(given, "tools.t.url", "https://elsewhere:8443/x"))).isEqualTo(hash);
        assertThat(hash(with(given, "tools.t.timeout", "1s"))).isEqualTo(hash);
        assertThat(List.of(
                        hash(with(given, "tools.t.version", "2")),
                        hash(with(given, "tools.t.arguments", "{\"type\": \"object\"}")),
                        hash(with(given, "tools.t.calls-per-question", "3")),
                        hash(with(given, "tools.t.max-response", "1KB")),
                        hash(with(given, "tools.t.answer", "text"))))
                .doesNotHaveDuplicates()
                .doesNotContain(hash);
    }

    private static Map<String, Object> with(Map<String, Object> given, String name, String value) {
        Map<String, Object> changed = new HashMap<>(given);
        changed.put(name, value);
        return changed;
    }

    private static String hash(Map<String, Object> properties) {
        return kits(properties).offer().tools().getFirst().hash();
    }

    @Test
    void a_kit_of_another_version_is_refused() {
        Map<String, Object> given = Map.of("tools.t.url", "http://h/", "images.i.image", "i:1");
        SandboxOffer offer = kits(given).offer();
        SandboxKit kit = new SandboxKit(offer.images().getFirst(), offer.tools());
        kits(given).check(kit);
        kits(given).check(null);
        assertThat(code(with(given, "tools.t.version", "2"), kit)).isEqualTo(ErrorCode.INVALID_STATE);
        assertThat(code(with(given, "images.i.image", "i:2"), kit)).isEqualTo(ErrorCode.INVALID_STATE);
        assertThat(code(Map.of("images.i.image", "i:1"), kit)).isEqualTo(ErrorCode.UNKNOWN_TOOL);
        assertThat(code(Map.of("tools.t.url", "http://h/"), kit)).isEqualTo(ErrorCode.UNKNOWN_IMAGE);
    }

    private static ErrorCode code(Map<String, Object> properties, SandboxKit kit) {
        try {
            kits(properties).check(kit);
            throw new AssertionError("taken");
        } catch (PlatformException e) {
            return e.code();
        }
    }

    /** As Kubernetes sets them. */
    @Test
    void environment_variables_name_images_and_tools_too() throws Exception {
        Path token = Files.writeString(folder.resolve("prices-token"), "Bearer from-a-file");
        Map<String, Object> variables = Map.of(
                "EXECUTOR_IMAGES_MONEY_IMAGE",
                "registry/money:1",
                "EXECUTOR_TOOLS_PRICES_URL",
                "http://prices.shop.svc:8080/price",
                "EXECUTOR_TOOLS_PRICES_CALLSPERQUESTION",
                "3",
                "EXECUTOR_TOOLS_PRICES_SECRETHEADERS_AUTHORIZATION",
                token.toString());
        StandardEnvironment environment = new StandardEnvironment();
        environment
                .getPropertySources()
                .replace(
                        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                        new SystemEnvironmentPropertySource(
                                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
        Kits kits = new Kits(
                Binder.get(environment).bind("executor", KitSettings.class).get());
        assertThat(kits.offer().images()).containsExactly(new SandboxImage("money", "registry/money:1", ""));
        Tool prices = kits.tool("prices").orElseThrow();
        assertThat(prices.offered().callsPerQuestion()).isEqualTo(3);
        assertThat(prices.headers().values()).containsExactly("Bearer from-a-file");
        assertThat(prices.headers().keySet()).allMatch("Authorization"::equalsIgnoreCase);
    }

    @Test
    void image_and_tools_stand_in_the_key_of_results() {
        SandboxOffer one = kits(Map.of("tools.t.url", "http://h/", "images.i.image", "i:1"))
                .offer();
        SandboxOffer other = kits(Map.of("tools.t.url", "http://h/", "tools.t.version", "2", "images.i.image", "i:2"))
                .offer();
        assertThat(SandboxKit.NONE.answersHash("sha256:s")).isEqualTo("sha256:s");
        assertThat(List.of(
                        new SandboxKit(one.images().getFirst(), List.of()).answersHash("sha256:s"),
                        new SandboxKit(other.images().getFirst(), List.of()).answersHash("sha256:s"),
                        new SandboxKit(null, one.tools()).answersHash("sha256:s"),
                        new SandboxKit(null, other.tools()).answersHash("sha256:s"),
                        new SandboxKit(null, one.tools()).answersHash("sha256:other")))
                .doesNotHaveDuplicates();
    }
}
