package bartleby.delayed;

import java.util.Map;
import org.springframework.amqp.core.Binding;
import org.springframework.amqp.core.BindingBuilder;
import org.springframework.amqp.core.CustomExchange;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.core.QueueBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** What the application declares when it connects; all of it durable. */
@Configuration
public class DelayedPluginConfig {
    static final String DELAYED_EXCHANGE = "delayed.exchange";
    static final String DELAYED_KEY = "delayed.key";
    static final String TARGET_QUEUE = "target.queue";

    /** Keeps each message as long as its header x-delay says, and then routes it as a direct exchange does. */
    @Bean
    public CustomExchange delayedExchange() {
        return new CustomExchange(DELAYED_EXCHANGE, "x-delayed-message", true, false, Map.of("x-delayed-type", "direct"));
    }

    @Bean
    public Queue targetQueue() {
        return QueueBuilder.durable(TARGET_QUEUE).build();
    }

    @Bean
    public Binding delayedBinding() {
        return BindingBuilder.bind(targetQueue()).to(delayedExchange()).with(DELAYED_KEY).noargs();
    }
}
