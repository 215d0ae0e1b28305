package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DataFolderTest {
    @Test
    void a_second_owner_is_refused_by_name(@TempDir Path folder) {
        try (DataFolder first = DataFolder.open(folder)) {
            assertThat(first.path()).isEqualTo(folder);
            assertThatThrownBy(() -> DataFolder.open(folder))
                    .isInstanceOf(StandaloneException.class)
                    .hasMessageContaining("process " + ProcessHandle.current().pid())
                    .hasMessageContaining("./harness down");
        }
        DataFolder.open(folder).close();
    }

    @Test
    void secrets_are_kept_and_readable_by_the_owner_only(@TempDir Path folder) throws Exception {
        String value;
        try (DataFolder data = DataFolder.open(folder)) {
            value = data.secret("admin-key", "hl_");
            assertThat(value).startsWith("hl_").hasSizeGreaterThan(40);
            assertThat(data.first("started")).isTrue();
        }
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("admin-key"))))
                .isEqualTo("rw-------");
        try (DataFolder data = DataFolder.open(folder)) {
            assertThat(data.secret("admin-key", "hl_")).isEqualTo(value);
            assertThat(data.first("started")).isFalse();
        }
    }

    @Test
    void says_that_it_is_ready_only_while_it_is(@TempDir Path folder) throws Exception {
        try (DataFolder data = DataFolder.open(folder)) {
            data.ready("http://127.0.0.1:8080");
            assertThat(folder.resolve("ready")).hasContent("http://127.0.0.1:8080\n");
        }
        assertThat(folder.resolve("ready")).doesNotExist();
        assertThat(folder.resolve("pid")).doesNotExist();
    }
}
