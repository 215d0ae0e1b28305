package org.harnesslearning.solver.adapter;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Clock;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.solver.inference.ModelRegistry;
import org.harnesslearning.solver.inference.ModelSettings;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.model.ModelVersionStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Says where adapters come from: a folder, and the model registry where one is configured. */
@Configuration(proxyBeanMethods = false)
class AdapterConfiguration {
    private static final Logger LOG = LoggerFactory.getLogger(AdapterConfiguration.class);

    /** The registry's connections. No data source of the service: it must start and serve without. */
    static final class Database implements AutoCloseable {
        private final HikariDataSource pool;

        Database(ModelSettings.RegistrySettings settings) {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(settings.url());
            config.setUsername(settings.username());
            config.setPassword(settings.password());
            config.setPoolName("registry");
            config.setMaximumPoolSize(4);
            config.setMinimumIdle(0);
            config.setConnectionTimeout(5_000);
            config.setReadOnly(true);
            // The database may come later than this service, or be away for a while.
            config.setInitializationFailTimeout(-1);
            pool = new HikariDataSource(config);
        }

        JdbcClient client() {
            return JdbcClient.create(pool);
        }

        @Override
        public void close() {
            pool.close();
        }
    }

    @Bean
    @ConditionalOnProperty("solver.registry.url")
    Database registryDatabase(ModelSettings settings) {
        return new Database(settings.registry());
    }

    @Bean
    @ConditionalOnProperty("solver.registry.url")
    RegistryModels registryModels(Database database, ModelRegistry registry, Clock clock) {
        JdbcClient client = database.client();
        RegistryModels models =
                new RegistryModels(new ModelVersionStore(client), new ModelAliasStore(client, clock), registry);
        registry.findBy(models);
        return models;
    }

    @Bean
    AdapterSource adapterSource(ModelSettings settings, ObjectProvider<RegistryModels> models) {
        AdapterFolder folder = new AdapterFolder(settings.adapters().folder());
        RegistryModels stored = models.getIfAvailable();
        return reference ->
                stored != null && RegistryModels.isVersion(reference) ? stored.read(reference) : folder.find(reference);
    }

    /** Loads what is promoted before the service says that it is ready; what fails is loaded when it is asked for. */
    @Bean
    @Order(Ordered.LOWEST_PRECEDENCE)
    @ConditionalOnProperty("solver.registry.url")
    ApplicationRunner loadPromoted(RegistryModels models) {
        return arguments -> {
            for (String name : models.promoted()) {
                try {
                    models.find(name);
                } catch (PlatformException e) {
                    LOG.warn("promoted model {} is not loaded yet: {}", name, e.getMessage());
                }
            }
        };
    }
}
