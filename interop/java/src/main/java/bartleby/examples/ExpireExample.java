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

/** Nobody consumes a message for 5 seconds, and it arrives in the dead-letter queue. */
public final class ExpireExample {
    public static final String EXCHANGE = "msg.ttl.exchange.test";
    public static final String QUEUE = "msg.ttl.queue.test";
    public static final String ROUTING_KEY = "msg.ttl.routing.key";
    public static final String DEAD_LETTER_EXCHANGE = "msg.ttl.dl.exchange.test";
    public static final String DEAD_LETTER_QUEUE = "msg.ttl.dl.queue.test";
    public static final String DEAD_LETTER_ROUTING_KEY = "msg.ttl.dl.routing.key";
    public static final int TTL_MILLIS = 5000;

    private ExpireExample() {}

    public static void main(String[] args) throws Exception {
        try (Connection connection = Broker.connect(); Channel channel = connection.createChannel()) {
            declare(channel);
            CompletableFuture<Delivery> deadLetter = new CompletableFuture<>();
            channel.basicConsume(DEAD_LETTER_QUEUE, true,
                    (tag, delivery) -> deadLetter.complete(delivery), tag -> {});
            publish(channel, args.length > 0 ? args[0] : "too late");
            Printed.print("dead letter", deadLetter.get(10, TimeUnit.SECONDS));
        }
    }

    /** Declares both exchanges and both queues; nothing of it is durable. */
    public static void declare(Channel channel) throws IOException {
        channel.exchangeDeclare(DEAD_LETTER_EXCHANGE, BuiltinExchangeType.TOPIC);
        channel.queueDeclare(DEAD_LETTER_QUEUE, false, false, false, null);
        channel.queueBind(DEAD_LETTER_QUEUE, DEAD_LETTER_EXCHANGE, "#.msg.ttl.dl.routing.key");

        channel.queueDeclare(QUEUE, false, false, false, Map.of(
                "x-dead-letter-exchange", DEAD_LETTER_EXCHANGE,
                "x-dead-letter-routing-key", DEAD_LETTER_ROUTING_KEY,
                "x-message-ttl", TTL_MILLIS));
        channel.exchangeDeclare(EXCHANGE, BuiltinExchangeType.TOPIC);
        channel.queueBind(QUEUE, EXCHANGE, "#.msg.ttl.routing.key");
    }

    public static void publish(Channel channel, String text) throws IOException {
        channel.basicPublish(EXCHANGE, ROUTING_KEY, null, text.getBytes(StandardCharsets.UTF_8));
    }
}
