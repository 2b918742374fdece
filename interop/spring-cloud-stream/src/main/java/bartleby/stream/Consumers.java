package bartleby.stream;

import java.util.function.Consumer;
import org.springframework.amqp.AmqpRejectAndDontRequeueException;
import org.springframework.amqp.ImmediateAcknowledgeAmqpException;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.messaging.Message;

/** Three consumers that fail on every message that begins with "bad". */
@Configuration
public class Consumers {
    static final String PARKING_LOT = "interop.parkingLot";

    private final ApplicationEventPublisher application;
    private final RabbitTemplate template;

    public Consumers(ApplicationEventPublisher application, RabbitTemplate template) {
        this.application = application;
        this.template = template;
    }

    /**
     * A consumer has a message.
     *
     * @param nanoTime when, by System.nanoTime
     */
    public record Attempt(String consumer, String content, Message<String> message, long nanoTime) {}

    @Bean
    public Queue parkingLot() {
        return new Queue(PARKING_LOT);
    }

    @Bean
    public Consumer<Message<String>> billing() {
        return message -> rejectOrPark("billing", message);
    }

    @Bean
    public Consumer<Message<String>> shipping() {
        return message -> rejectOrPark("shipping", message);
    }

    @Bean
    public Consumer<Message<String>> audit() {
        return message -> {
            note("audit", message);
            if (!message.getPayload().startsWith("bad")) {
                return;
            }
            if (Attempts.byHeader(message.getHeaders()) >= Attempts.MAX) {
                park(message);
                return;
            }
            throw new IllegalStateException("audit cannot");
        };
    }

    private void rejectOrPark(String consumer, Message<String> message) {
        note(consumer, message);
        if (!message.getPayload().startsWith("bad")) {
            return;
        }
        if (Attempts.byDeaths(message.getHeaders()) >= Attempts.MAX) {
            park(message);
            throw new ImmediateAcknowledgeAmqpException("parked");
        }
        throw new AmqpRejectAndDontRequeueException(consumer + " cannot");
    }

    private void park(Message<String> message) {
        template.convertAndSend("", PARKING_LOT, message.getPayload());
    }

    private void note(String consumer, Message<String> message) {
        application.publishEvent(new Attempt(consumer, message.getPayload(), message, System.nanoTime()));
    }
}
