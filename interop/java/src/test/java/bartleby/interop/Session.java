package bartleby.interop;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Delivery;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/**
 * A connection with one channel in confirm mode, and the names the test uses on it: whatever has these names is
 * deleted when they are claimed, and again at the end.
 */
final class Session implements AutoCloseable {
    /** How late a message may be, in milliseconds. Generous to a busy machine; never being early is held exactly. */
    static final long LATE_MILLIS = 1500;

    /** How long the broker may take for a confirm, in milliseconds. */
    private static final long CONFIRM_MILLIS = 10_000;

    private final Connection connection;
    private final Channel channel;
    private final List<String> queues = new ArrayList<>();
    private final List<String> exchanges = new ArrayList<>();

    Session(Connection connection) throws IOException {
        this.connection = connection;
        this.channel = connection.createChannel();
        channel.confirmSelect();
    }

    static Session open(Recovery recovery) throws Exception {
        return new Session(Target.connect(recovery));
    }

    Connection connection() {
        return connection;
    }

    Channel channel() {
        return channel;
    }

    Session claimQueues(String... names) throws IOException {
        for (String name : names) {
            channel.queueDelete(name);
            queues.add(name);
        }
        return this;
    }

    Session claimExchanges(String... names) throws IOException {
        for (String name : names) {
            channel.exchangeDelete(name);
            exchanges.add(name);
        }
        return this;
    }

    /** Claims and declares a queue that is neither durable nor exclusive nor deleted by itself. */
    void queue(String name, Map<String, Object> arguments) throws IOException {
        claimQueues(name);
        channel.queueDeclare(name, false, false, false, arguments);
    }

    /** Claims and declares an exchange that is not durable. */
    void exchange(String name, BuiltinExchangeType type) throws IOException {
        claimExchanges(name);
        channel.exchangeDeclare(name, type);
    }

    Published publish(String exchange, String routingKey, BasicProperties properties, String body) throws Exception {
        return confirmed(() ->
                channel.basicPublish(exchange, routingKey, properties, body.getBytes(StandardCharsets.UTF_8)));
    }

    Published publish(String exchange, String routingKey, String body) throws Exception {
        return publish(exchange, routingKey, null, body);
    }

    /** Runs something that publishes on this channel, and waits for the confirms. */
    Published confirmed(Publishing publishing) throws Exception {
        Instant begun = Instant.now();
        long begunNanos = System.nanoTime();
        publishing.run();
        channel.waitForConfirmsOrDie(CONFIRM_MILLIS);
        return new Published(begun, begunNanos, System.nanoTime());
    }

    interface Publishing {
        void run() throws IOException;
    }

    /** Starts a consumer with automatic acknowledgement. */
    Inbox consume(String queue) throws IOException {
        return consume(queue, true, arrival -> {});
    }

    /** Starts a consumer that rejects everything for good; what it rejected is in the inbox. */
    Inbox rejectAll(String queue) throws IOException {
        return consume(queue, false, arrival -> channel.basicReject(arrival.deliveryTag(), false));
    }

    /** Starts a consumer that settles nothing. */
    Inbox hold(String queue) throws IOException {
        return consume(queue, false, arrival -> {});
    }

    private Inbox consume(String queue, boolean autoAck, Receiving receiving) throws IOException {
        Inbox inbox = new Inbox();
        channel.basicConsume(queue, autoAck, (String tag, Delivery delivery) -> {
            Arrival arrival = new Arrival(delivery, System.nanoTime());
            receiving.receive(arrival);
            inbox.add(arrival);
        }, tag -> {});
        return inbox;
    }

    private interface Receiving {
        void receive(Arrival arrival) throws IOException;
    }

    long ready(String queue) throws IOException {
        return channel.messageCount(queue);
    }

    /** Deletes what was claimed, on a channel of its own in case the test has lost its one. */
    @Override
    public void close() throws IOException, TimeoutException {
        try (Connection last = Target.connect(Recovery.NONE); Channel cleaning = last.createChannel()) {
            for (String queue : queues) {
                cleaning.queueDelete(queue);
            }
            for (String exchange : exchanges) {
                cleaning.exchangeDelete(exchange);
            }
        } finally {
            connection.abort(5000);
        }
    }
}
