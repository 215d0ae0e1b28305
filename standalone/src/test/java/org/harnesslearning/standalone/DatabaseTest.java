package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@RequiresPostgres
class DatabaseTest {
    @Test
    void rows_survive_a_killed_process_whose_server_still_runs(@TempDir Path folder) throws Exception {
        Process owner = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Owner.class.getName(),
                        folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader output = owner.inputReader()) {
            String line = output.readLine();
            while (line != null && !line.equals("written")) {
                line = output.readLine();
            }
            assertThat(line).isEqualTo("written");
        } finally {
            owner.destroyForcibly().waitFor();
        }
        try (Database next = Database.start(folder);
                Connection connection = DriverManager.getConnection(next.jdbcUrl());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select n, current_setting('fsync') from kept")) {
            assertThat(rows.next()).isTrue();
            assertThat(rows.getInt(1)).isEqualTo(7);
            assertThat(rows.getString(2)).isEqualTo("on");
        }
    }

    /** The process that is killed. */
    static final class Owner {
        public static void main(String[] arguments) throws Exception {
            Database database = Database.start(Path.of(arguments[0]));
            try (Connection connection = DriverManager.getConnection(database.jdbcUrl());
                    Statement statement = connection.createStatement()) {
                statement.execute("create table kept as select 7 as n");
            }
            System.out.println("written");
            Thread.sleep(Long.MAX_VALUE);
        }
    }
}
