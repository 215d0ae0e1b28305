package org.harnesslearning.trainer.rollout;

import java.net.URI;
import org.harnesslearning.contracts.revision.RevisionApi;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.trainer.method.LearnerProperties;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties({RolloutProperties.class, LearnerProperties.class})
class RolloutConfiguration {
    @Bean
    RevisionApi revisionApi(
            @Value("${platform.proposer-url}") URI url,
            @Value("${platform.internal-secret}") String secret,
            RolloutProperties properties) {
        return InternalClients.create(RevisionApi.class, url, secret, properties.answerTimeout());
    }
}
