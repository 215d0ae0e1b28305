package org.harnesslearning.solver.adapter;

import org.harnesslearning.solver.inference.ModelSettings;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Says where adapters come from. */
@Configuration(proxyBeanMethods = false)
class AdapterConfiguration {
    @Bean
    AdapterSource adapterSource(ModelSettings settings) {
        return new AdapterFolder(settings.adapters().folder());
    }
}
