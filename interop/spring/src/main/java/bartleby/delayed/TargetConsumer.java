package bartleby.delayed;

import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.stereotype.Component;

/** Receives the delayed messages when their time has come, and tells the rest of the application. */
@Component
public class TargetConsumer {
    private static final Logger LOG = LoggerFactory.getLogger(TargetConsumer.class);

    private final ApplicationEventPublisher application;

    public TargetConsumer(ApplicationEventPublisher application) {
        this.application = application;
    }

    @RabbitListener(queues = DelayedPluginConfig.TARGET_QUEUE)
    public void receive(Message message) {
        String content = new String(message.getBody(), StandardCharsets.UTF_8);
        LOG.info("received \"{}\"", content);
        application.publishEvent(new Arrived(content, message, System.nanoTime()));
    }

    /**
     * A delayed message is here.
     *
     * @param nanoTime when, by System.nanoTime
     */
    public record Arrived(String content, Message message, long nanoTime) {}
}
