package bartleby.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.connection.ConnectionFactory;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.actuate.amqp.RabbitHealthIndicator;
import org.springframework.boot.actuate.health.CompositeHealth;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthEndpoint;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.test.context.SpringBootTest;

/** What Spring Boot Actuator says of the broker. */
@SpringBootTest(properties = {"spring.jmx.enabled=true", "management.endpoints.jmx.exposure.include=health",
    "management.endpoint.health.show-details=always"})
class HealthTest {
    @Autowired
    private HealthEndpoint endpoint;

    @Autowired
    private ConnectionFactory factory;

    /** Broken if an application whose broker is well were called down, and were restarted for it again and again. */
    @Test
    void up() {
        CompositeHealth health = (CompositeHealth) endpoint.health();
        assertThat(health.getComponents()).containsKey("rabbit");
        Health rabbit = (Health) health.getComponents().get("rabbit");
        assertThat(rabbit.getStatus()).isEqualTo(Status.UP);
        // It is what the broker says of itself when a connection begins: no version, no health.
        String version = (String) rabbit.getDetails().get("version");
        assertThat(version).matches("\\d+\\.\\d+.*");
        assertThat(factory.createConnection().getDelegate().getServerProperties().get("version")).hasToString(version);
    }

    /** Broken if the test above could not fail. */
    @Test
    void down() {
        CachingConnectionFactory nobody = new CachingConnectionFactory("127.0.0.1", 1);
        try {
            assertThat(new RabbitHealthIndicator(new RabbitTemplate(nobody)).health().getStatus()).isEqualTo(Status.DOWN);
        } finally {
            nobody.destroy();
        }
    }
}
