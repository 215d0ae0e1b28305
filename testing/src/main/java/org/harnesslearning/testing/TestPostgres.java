package org.harnesslearning.testing;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import javax.sql.DataSource;

/** One real Postgres a test JVM, started on first use; every caller gets an empty database of its own. */
public final class TestPostgres {
    private static final class Holder {
        static final EmbeddedPostgres SERVER = start();

        private static EmbeddedPostgres start() {
            try {
                EmbeddedPostgres server = EmbeddedPostgres.builder().start();
                Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                    try {
                        server.close();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }));
                return server;
            } catch (IOException e) {
                throw new UncheckedIOException("embedded Postgres does not start", e);
            }
        }
    }

    private TestPostgres() {}

    /** Name of a new, empty database. */
    public static String createDatabase() {
        String name = "t" + UUID.randomUUID().toString().replace("-", "");
        try (Connection connection = Holder.SERVER.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("create database " + name);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        return name;
    }

    /** JDBC URL of a database, user {@code postgres} and no password included. */
    public static String jdbcUrl(String database) {
        return Holder.SERVER.getJdbcUrl("postgres", database);
    }

    /** Data source of a database; one connection a call, not pooled. */
    public static DataSource dataSource(String database) {
        return Holder.SERVER.getDatabase("postgres", database);
    }
}
