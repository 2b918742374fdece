package bartleby.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.springframework.amqp.core.AmqpAdmin;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

/** The whole application against a running broker. */
@SpringBootTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Import(DelayApplicationTest.Arrivals.class)
class DelayApplicationTest {
    /** How late a message may be, in milliseconds. Generous to a busy machine; never being early is held exactly. */
    private static final long LATE_MILLIS = 1500;

    private static final boolean BARTLEBY = "bartleby".equals(System.getenv("PRODUCT"));

    @Autowired
    private DelayMessageService service;

    @Autowired
    private Arrivals arrivals;

    @Autowired
    private AmqpAdmin admin;

    @Autowired
    private RabbitListenerEndpointRegistry listeners;

    @TestConfiguration
    static class Arrivals {
        private final BlockingQueue<DlxConsumer.Arrived> queue = new LinkedBlockingQueue<>();

        @EventListener
        void add(DlxConsumer.Arrived arrived) {
            queue.add(arrived);
        }

        DlxConsumer.Arrived take() throws InterruptedException {
            DlxConsumer.Arrived arrived = queue.poll(10, TimeUnit.SECONDS);
            assertThat(arrived).as("nothing within 10 s").isNotNull();
            return arrived;
        }
    }

    @BeforeEach
    void empty() {
        admin.purgeQueue(TtlDlxConfig.DELAY_QUEUE, false);
        admin.purgeQueue(TtlDlxConfig.DLX_QUEUE, false);
        arrivals.queue.clear();
    }

    @AfterAll
    void leaveNothing() {
        listeners.stop();
        admin.deleteQueue(TtlDlxConfig.DELAY_QUEUE);
        admin.deleteQueue(TtlDlxConfig.DLX_QUEUE);
        admin.deleteExchange(TtlDlxConfig.NORMAL_EXCHANGE);
        admin.deleteExchange(TtlDlxConfig.DLX_EXCHANGE);
    }

    private static void assertDied(DlxConsumer.Arrived arrived, String expiration, Instant since) {
        MessageProperties properties = arrived.message().getMessageProperties();
        assertThat(properties.getReceivedExchange()).isEqualTo(TtlDlxConfig.DLX_EXCHANGE);
        assertThat(properties.getReceivedRoutingKey()).isEqualTo(TtlDlxConfig.DLX_KEY);
        assertThat(properties.getExpiration()).isNull();
        assertThat(properties.isRedelivered()).isFalse();
        // RabbitMQ writes the last death since 3.13.
        for (String which : BARTLEBY ? List.of("first", "last") : List.of("first")) {
            assertThat(properties.getHeaders())
                    .containsEntry("x-" + which + "-death-reason", "expired")
                    .containsEntry("x-" + which + "-death-queue", TtlDlxConfig.DELAY_QUEUE)
                    .containsEntry("x-" + which + "-death-exchange", TtlDlxConfig.NORMAL_EXCHANGE);
        }

        assertThat(properties.getXDeathHeader()).hasSize(1);
        Map<String, Object> death = Map.copyOf(properties.getXDeathHeader().get(0));
        assertThat(death)
                .containsOnlyKeys("reason", "queue", "exchange", "routing-keys", "count", "time", "original-expiration")
                .containsEntry("reason", "expired")
                .containsEntry("queue", TtlDlxConfig.DELAY_QUEUE)
                .containsEntry("exchange", TtlDlxConfig.NORMAL_EXCHANGE)
                .containsEntry("routing-keys", List.of(TtlDlxConfig.DELAY_KEY))
                .containsEntry("count", 1L)
                .containsEntry("original-expiration", expiration);
        assertThat(((Date) death.get("time")).toInstant())
                .isBetween(since.truncatedTo(ChronoUnit.SECONDS), Instant.now());
    }

    private static void assertTime(DlxConsumer.Arrived arrived, long delayMillis, long begun, long ended) {
        assertThat((arrived.nanoTime() - begun) / 1e6).as("never early").isGreaterThanOrEqualTo(delayMillis);
        assertThat((arrived.nanoTime() - ended) / 1e6).as("not late").isLessThan(delayMillis + LATE_MILLIS);
    }

    /** Broken if a message sent to arrive in two seconds arrived earlier, much later, elsewhere, or changed. */
    @Test
    void delayedMessageArrivesInTime() throws Exception {
        Instant since = Instant.now();
        long begun = System.nanoTime();
        service.send("cancel order 42", 2000);
        long ended = System.nanoTime();
        DlxConsumer.Arrived arrived = arrivals.take();
        assertThat(arrived.content()).isEqualTo("cancel order 42");
        assertTime(arrived, 2000, begun, ended);
        assertDied(arrived, "2000", since);
        assertThat(arrivals.queue).isEmpty();
    }

    /** Broken if messages with equal delays overtook each other. */
    @Test
    void equalDelaysKeepTheirOrder() throws Exception {
        for (int n = 0; n < 20; n++) {
            service.send("order " + n, 500);
        }
        for (int n = 0; n < 20; n++) {
            assertThat(arrivals.take().content()).isEqualTo("order " + n);
        }
    }

    /** Broken if a message waited for the expiry of a longer-lived one in front of it, as it does on RabbitMQ. */
    @Test
    @EnabledIfEnvironmentVariable(named = "PRODUCT", matches = "bartleby",
            disabledReason = "other brokers expire messages only at the head of a queue")
    void shorterDelayOvertakesLonger() throws Exception {
        service.send("in 30 s", 30_000);
        Instant since = Instant.now();
        long begun = System.nanoTime();
        service.send("in 1 s", 1000);
        long ended = System.nanoTime();
        DlxConsumer.Arrived arrived = arrivals.take();
        assertThat(arrived.content()).isEqualTo("in 1 s");
        assertTime(arrived, 1000, begun, ended);
        assertDied(arrived, "1000", since);
        assertThat(admin.getQueueInfo(TtlDlxConfig.DELAY_QUEUE).getMessageCount()).isEqualTo(1);
    }

    /** Broken if the application could not stop listening and find what arrived meanwhile when it listens again. */
    @Test
    void deadLettersWaitForTheirConsumer() throws Exception {
        listeners.stop();
        service.send("while you were away", 100);
        service.send("a little later", 200);
        await().until(() -> admin.getQueueInfo(TtlDlxConfig.DLX_QUEUE).getMessageCount() == 2);
        assertThat(arrivals.queue).isEmpty();
        listeners.start();
        assertThat(arrivals.take().content()).isEqualTo("while you were away");
        assertThat(arrivals.take().content()).isEqualTo("a little later");
    }
}
