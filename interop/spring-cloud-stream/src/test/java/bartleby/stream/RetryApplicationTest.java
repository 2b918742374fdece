package bartleby.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.amqp.core.AmqpAdmin;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.cloud.stream.binding.BindingsLifecycleController;
import org.springframework.cloud.stream.function.StreamBridge;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;
import org.springframework.messaging.MessageHeaders;

/** The whole application against a running broker. */
@SpringBootTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Import(RetryApplicationTest.Attempted.class)
class RetryApplicationTest {
    private static final long WAIT_SECONDS = 10;

    /** How late a message may be, in milliseconds. Generous to a busy machine; never being early is held exactly. */
    private static final long LATE_MILLIS = 1500;

    private static final long TTL_MILLIS = 600;

    /** RabbitMQ does not count deaths that a client tells of since version 4. */
    private static final boolean SERIES_4 = List.of("bartleby", "rabbitmq-4").contains(
            String.valueOf(System.getenv("PRODUCT")));

    @Autowired
    private StreamBridge bridge;

    @Autowired
    private Attempted attempted;

    @Autowired
    private AmqpAdmin admin;

    @Autowired
    private RabbitTemplate template;

    @Autowired
    private BindingsLifecycleController bindings;

    @TestConfiguration
    static class Attempted {
        private final Map<String, BlockingQueue<Consumers.Attempt>> queues = new ConcurrentHashMap<>();

        private BlockingQueue<Consumers.Attempt> of(String content) {
            return queues.computeIfAbsent(content, c -> new LinkedBlockingQueue<>());
        }

        @EventListener
        void add(Consumers.Attempt attempt) {
            of(attempt.content()).add(attempt);
        }

        Consumers.Attempt take(String content) throws InterruptedException {
            Consumers.Attempt attempt = of(content).poll(WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(attempt).as("no attempt of \"%s\" within %d s", content, WAIT_SECONDS).isNotNull();
            return attempt;
        }
    }

    @AfterAll
    void leaveNothing() {
        for (String destination : List.of("interop.orders", "interop.parcels", "interop.changes")) {
            admin.deleteExchange(destination);
        }
        for (String queue : List.of("interop.orders.billing", "interop.parcels.shipping", "interop.changes.audit")) {
            admin.deleteQueue(queue);
            admin.deleteQueue(queue + ".dlq");
        }
        admin.deleteQueue(Consumers.PARKING_LOT);
        admin.deleteExchange("DLX");
    }

    /** Checks that the message, once, is all that is left, in the parking lot, when its consumer has stopped. */
    private void assertParked(String content, String binding, String queue) {
        Message message = template.receive(Consumers.PARKING_LOT, TimeUnit.SECONDS.toMillis(WAIT_SECONDS));
        assertThat(message).as("nothing was parked within %d s", WAIT_SECONDS).isNotNull();
        assertThat(message.getBody()).asString().isEqualTo(content);
        bindings.stop(binding);
        for (String empty : List.of(Consumers.PARKING_LOT, queue, queue + ".dlq")) {
            assertThat(admin.getQueueInfo(empty).getMessageCount()).as(empty).isZero();
        }
        assertThat(attempted.of(content)).isEmpty();
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> deaths(MessageHeaders headers) {
        return headers.get("x-death", List.class);
    }

    private static void assertDeaths(MessageHeaders headers, String queue, long count) {
        List<Map<String, Object>> deaths = deaths(headers);
        assertThat(deaths).hasSize(2);
        assertThat(deaths.get(0))
                .containsEntry("queue", queue + ".dlq")
                .containsEntry("reason", "expired")
                .containsEntry("exchange", "DLX")
                .containsEntry("routing-keys", List.of(queue))
                .containsEntry("count", count);
        assertThat(deaths.get(1))
                .containsEntry("queue", queue)
                .containsEntry("reason", "rejected")
                .containsEntry("count", count);
        assertThat(headers).containsEntry("x-first-death-queue", queue).containsEntry("x-first-death-reason", "rejected");
    }

    private static void assertPause(Consumers.Attempt earlier, Consumers.Attempt later) {
        double millis = (later.nanoTime() - earlier.nanoTime()) / 1e6;
        assertThat(millis).as("never early").isGreaterThanOrEqualTo(TTL_MILLIS);
        assertThat(millis).as("not late").isLessThan(TTL_MILLIS + LATE_MILLIS);
    }

    /** Broken if a rejected message did not come back after each wait in its DLQ, counted, and end in the parking lot. */
    @ParameterizedTest
    @CsvSource({"billing, interop.orders", "shipping, interop.parcels"})
    void rejectedComesBackUntilItIsParked(String consumer, String destination) throws Exception {
        String queue = destination + "." + consumer;
        String bad = "bad " + destination;
        assertThat(bridge.send(destination, bad)).isTrue();
        Consumers.Attempt last = attempted.take(bad);
        assertThat(last.consumer()).isEqualTo(consumer);
        assertThat(last.message().getHeaders()).doesNotContainKey("x-death");

        // The others need not wait for it.
        assertThat(bridge.send(destination, "good " + destination)).isTrue();
        assertThat(attempted.take("good " + destination).message().getHeaders()).doesNotContainKey("x-death");

        for (long count = 1; count <= Attempts.MAX; count++) {
            Consumers.Attempt attempt = attempted.take(bad);
            assertPause(last, attempt);
            assertDeaths(attempt.message().getHeaders(), queue, count);
            last = attempt;
        }
        assertParked(bad, consumer + "-in-0", queue);
    }

    /**
     * Broken if a message that the binder itself published to the DLQ, with the exception and the deaths it had in
     * headers, did not come back from there, or if those deaths were counted, which RabbitMQ 3 does.
     */
    @Test
    void republishedComesBackUntilItIsParked() throws Exception {
        String bad = "bad change";
        assertThat(bridge.send("interop.changes", bad)).isTrue();
        attempted.take(bad);
        Consumers.Attempt last = attempted.take(bad);
        for (long count = 1; count <= Attempts.MAX; count++) {
            Consumers.Attempt attempt = attempted.take(bad);
            assertPause(last, attempt);
            MessageHeaders headers = attempt.message().getHeaders();
            assertThat(Attempts.byHeader(headers)).isEqualTo(count);
            assertThat(headers.get("x-exception-stacktrace")).asString().contains("audit cannot");
            assertThat(headers).containsEntry("x-original-exchange", count == 1 ? "interop.changes" : "");
            List<Map<String, Object>> deaths = deaths(headers);
            assertThat(deaths).hasSize(1);
            assertThat(deaths.get(0))
                    .containsEntry("queue", "interop.changes.audit.dlq")
                    .containsEntry("reason", "expired")
                    .containsEntry("exchange", "DLX")
                    .containsEntry("count", SERIES_4 ? 1L : count);
            // The consumer's own second attempt, without the broker; the last one parks at the first.
            last = count < Attempts.MAX ? attempted.take(bad) : attempt;
        }
        assertParked(bad, "audit-in-0", "interop.changes.audit");
    }
}
