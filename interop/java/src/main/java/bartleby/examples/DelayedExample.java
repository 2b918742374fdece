package bartleby.examples;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.MessageProperties;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A message of three seconds and then one of one second: each arrives when its own delay is over. */
public final class DelayedExample {
    public static final String EXCHANGE = "delayed.exchange.test";
    public static final String QUEUE = "delayed.queue.test";
    public static final String ROUTING_KEY = "delayed.routing.key";

    private DelayedExample() {}

    public static void main(String[] args) throws Exception {
        try (Connection connection = Broker.connect(); Channel channel = connection.createChannel()) {
            declare(channel);
            BlockingQueue<Delivery> arrived = new LinkedBlockingQueue<>();
            channel.basicConsume(QUEUE, true, (tag, delivery) -> arrived.add(delivery), tag -> {});
            publish(channel, "in 3 s", 3000);
            publish(channel, "in 1 s", 1000);
            for (int n = 0; n < 2; n++) {
                Delivery delivery = arrived.poll(10, TimeUnit.SECONDS);
                if (delivery == null) {
                    throw new IOException("nothing within 10 s");
                }
                Printed.print("message", delivery);
            }
        }
    }

    /** Declares a delayed exchange that routes as a direct one does, and the queue; both are durable. */
    public static void declare(Channel channel) throws IOException {
        channel.exchangeDeclare(EXCHANGE, "x-delayed-message", true, false, Map.of("x-delayed-type", "direct"));
        channel.queueDeclare(QUEUE, true, false, false, null);
        channel.queueBind(QUEUE, EXCHANGE, ROUTING_KEY);
    }

    /** Publishes a message that the exchange keeps for so many milliseconds, an Integer or a Long. */
    public static void publish(Channel channel, String text, Number delayMillis) throws IOException {
        BasicProperties properties =
                MessageProperties.PERSISTENT_TEXT_PLAIN.builder().headers(Map.of("x-delay", delayMillis)).build();
        channel.basicPublish(EXCHANGE, ROUTING_KEY, true, properties, text.getBytes(StandardCharsets.UTF_8));
    }
}
