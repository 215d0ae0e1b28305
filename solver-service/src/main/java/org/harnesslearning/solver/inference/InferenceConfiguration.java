package org.harnesslearning.solver.inference;

import io.micrometer.core.instrument.MeterRegistry;
import org.apache.catalina.connector.Connector;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Wires the API to the registry. */
@Configuration(proxyBeanMethods = false)
class InferenceConfiguration {
    @Bean
    InferenceMetrics inferenceMetrics(MeterRegistry meters, ModelRegistry registry, ModelSettings settings) {
        return new InferenceMetrics(meters, registry, settings.defaults());
    }

    @Bean
    EngineHealth engineHealthIndicator(ModelRegistry registry, ModelSettings settings) {
        return new EngineHealth(registry, settings.stallTimeout());
    }

    @Bean
    RunningCalls runningCalls(ModelSettings settings) {
        return new RunningCalls(settings.drainTimeout());
    }

    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> watchedConnector() {
        return factory -> factory.setProtocol(WatchedNioProtocol.class.getName());
    }

    @Bean
    Disconnects disconnects(ObjectProvider<ServletWebServerApplicationContext> context) {
        return new Disconnects(() -> protocol(context.getIfAvailable()));
    }

    private static @Nullable WatchedNioProtocol protocol(@Nullable ServletWebServerApplicationContext context) {
        if (context != null && context.getWebServer() instanceof TomcatWebServer server) {
            for (Connector connector : server.getTomcat().getService().findConnectors()) {
                if (connector.getProtocolHandler() instanceof WatchedNioProtocol watched) {
                    return watched;
                }
            }
        }
        return null;
    }
}
