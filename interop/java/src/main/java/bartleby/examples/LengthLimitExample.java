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

/** A queue takes 5 messages; with the sixth its oldest one goes to the dead-letter queue. */
public final class LengthLimitExample {
    public static final String EXCHANGE = "length.limit.exchange.test";
    public static final String QUEUE = "length.limit.queue.test";
    public static final String ROUTING_KEY = "length.limit.routing.key";
    public static final String DEAD_LETTER_EXCHANGE = "length.limit.dl.exchange.test";
    public static final String DEAD_LETTER_QUEUE = "length.limit.dl.queue.test";
    public static final String DEAD_LETTER_ROUTING_KEY = "length.limit.dl.routing.key";
    public static final int LENGTH_MAX = 5;

    private LengthLimitExample() {}

    public static void main(String[] args) throws Exception {
        try (Connection connection = Broker.connect(); Channel channel = connection.createChannel()) {
            declare(channel);
            channel.queuePurge(QUEUE);
            CompletableFuture<Delivery> deadLetter = new CompletableFuture<>();
            channel.basicConsume(DEAD_LETTER_QUEUE, true,
                    (tag, delivery) -> deadLetter.complete(delivery), tag -> {});
            for (int n = 1; n <= LENGTH_MAX + 1; n++) {
                publish(channel, "message " + n);
            }
            Printed.print("dead letter", deadLetter.get(10, TimeUnit.SECONDS));
        }
    }

    /** Declares both exchanges and both queues; nothing of it is durable. */
    public static void declare(Channel channel) throws IOException {
        channel.exchangeDeclare(DEAD_LETTER_EXCHANGE, BuiltinExchangeType.TOPIC);
        channel.queueDeclare(DEAD_LETTER_QUEUE, false, false, false, null);
        channel.queueBind(DEAD_LETTER_QUEUE, DEAD_LETTER_EXCHANGE, "#.length.limit.dl.routing.key");

        channel.queueDeclare(QUEUE, false, false, false, Map.of(
                "x-dead-letter-exchange", DEAD_LETTER_EXCHANGE,
                "x-dead-letter-routing-key", DEAD_LETTER_ROUTING_KEY,
                "x-max-length", LENGTH_MAX));
        channel.exchangeDeclare(EXCHANGE, BuiltinExchangeType.TOPIC);
        channel.queueBind(QUEUE, EXCHANGE, "#.length.limit.routing.key");
    }

    public static void publish(Channel channel, String text) throws IOException {
        channel.basicPublish(EXCHANGE, ROUTING_KEY, null, text.getBytes(StandardCharsets.UTF_8));
    }
}
