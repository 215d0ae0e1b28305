package org.harnesslearning.contracts.web;

import org.harnesslearning.contracts.json.Json;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import tools.jackson.databind.json.JsonMapper;

/** What every internal service imports: request ids, problem details, the installation secret, the platform's JSON. */
@Configuration(proxyBeanMethods = false)
@Import(ProblemAdvice.class)
public class InternalWeb {
    @Bean
    RequestIdFilter requestIdFilter() {
        return new RequestIdFilter();
    }

    @Bean
    InternalSecretFilter internalSecretFilter(@Value("${platform.internal-secret:}") String secret) {
        return new InternalSecretFilter(secret);
    }

    @Bean
    JsonMapper jsonMapper() {
        return Json.mapper();
    }
}
