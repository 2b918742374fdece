package bartleby.examples;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Delivery;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A consumer rejects a message, and the message arrives in the dead-letter queue. */
public final class RejectExample {
    public static final String EXCHANGE = "normal.exchange.test";
    public static final String QUEUE = "normal.queue.test";
    public static final String ROUTING_KEY = "prefix.normal.routing.key";
    public static final String DEAD_LETTER_EXCHANGE = "dl.exchange.test";
    public static final String DEAD_LETTER_QUEUE = "dl.queue.test";
    public static final String DEAD_LETTER_ROUTING_KEY = "dl.routing.key";

    private RejectExample() {}

    public static void main(String[] args) throws Exception {
        try (Connection connection = Broker.connect(); Channel channel = connection.createChannel()) {
            declare(channel);
            CompletableFuture<Delivery> deadLetter = new CompletableFuture<>();
            channel.basicConsume(DEAD_LETTER_QUEUE, true,
                    (tag, delivery) -> deadLetter.complete(delivery), tag -> {});
            rejectAll(channel);
            publish(channel, args.length > 0 ? args[0] : "I would prefer not to");
            Printed.print("dead letter", deadLetter.get(10, TimeUnit.SECONDS));
        }
    }

    /** Declares both exchanges and both queues; nothing of it is durable. */
    public static void declare(Channel channel) throws IOException {
        channel.exchangeDeclare(DEAD_LETTER_EXCHANGE, BuiltinExchangeType.TOPIC);
        channel.queueDeclare(DEAD_LETTER_QUEUE, false, false, false, null);
        channel.queueBind(DEAD_LETTER_QUEUE, DEAD_LETTER_EXCHANGE, "#.dl.routing.key");

        channel.exchangeDeclare(EXCHANGE, BuiltinExchangeType.TOPIC);
        channel.queueDeclare(QUEUE, false, false, false, Map.of(
                "x-dead-letter-exchange", DEAD_LETTER_EXCHANGE,
                "x-dead-letter-routing-key", DEAD_LETTER_ROUTING_KEY));
        channel.queueBind(QUEUE, EXCHANGE, "*.normal.routing.key");
    }

    /** Starts a consumer that wants none of its messages: requeue is false, so each becomes a dead letter. */
    public static void rejectAll(Channel channel) throws IOException {
        channel.basicConsume(QUEUE, false, (tag, delivery) -> {
            Printed.print("rejected   ", delivery);
            channel.basicReject(delivery.getEnvelope().getDeliveryTag(), false);
        }, tag -> {});
    }

    public static void publish(Channel channel, String text) throws IOException {
        channel.basicPublish(EXCHANGE, ROUTING_KEY, null, text.getBytes(StandardCharsets.UTF_8));
    }
}
