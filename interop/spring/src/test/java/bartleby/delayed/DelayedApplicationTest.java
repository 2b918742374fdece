package bartleby.delayed;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.springframework.amqp.core.AmqpAdmin;
import org.springframework.amqp.core.BindingBuilder;
import org.springframework.amqp.core.Exchange;
import org.springframework.amqp.core.ExchangeBuilder;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

/** The whole application against a running broker. */
@SpringBootTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Import(DelayedApplicationTest.Arrivals.class)
@EnabledIfEnvironmentVariable(named = "PRODUCT", matches = "bartleby",
        disabledReason = "other brokers need a plugin for x-delayed-message")
class DelayedApplicationTest {
    /** How late a message may be, in milliseconds. Generous to a busy machine; never being early is held exactly. */
    private static final long LATE_MILLIS = 1500;

    @Autowired
    private DelayedPluginService service;

    @Autowired
    private RabbitTemplate template;

    @Autowired
    private Arrivals arrivals;

    @Autowired
    private AmqpAdmin admin;

    @Autowired
    private DelayedPluginConfig config;

    @Autowired
    private RabbitListenerEndpointRegistry listeners;

    @TestConfiguration
    static class Arrivals {
        private final BlockingQueue<TargetConsumer.Arrived> queue = new LinkedBlockingQueue<>();

        @EventListener
        void add(TargetConsumer.Arrived arrived) {
            queue.add(arrived);
        }

        TargetConsumer.Arrived take() throws InterruptedException {
            TargetConsumer.Arrived arrived = queue.poll(10, TimeUnit.SECONDS);
            assertThat(arrived).as("nothing within 10 s").isNotNull();
            return arrived;
        }
    }

    @BeforeEach
    void empty() {
        admin.purgeQueue(DelayedPluginConfig.TARGET_QUEUE, false);
        arrivals.queue.clear();
    }

    @AfterAll
    void leaveNothing() {
        listeners.stop();
        admin.deleteQueue(DelayedPluginConfig.TARGET_QUEUE);
        admin.deleteExchange(DelayedPluginConfig.DELAYED_EXCHANGE);
    }

    private static void assertCame(TargetConsumer.Arrived arrived, String exchange, String content, long delayMillis) {
        MessageProperties properties = arrived.message().getMessageProperties();
        assertThat(arrived.content()).isEqualTo(content);
        assertThat(properties.getReceivedExchange()).isEqualTo(exchange);
        assertThat(properties.getReceivedRoutingKey()).isEqualTo(DelayedPluginConfig.DELAYED_KEY);
        assertThat(properties.isRedelivered()).isFalse();
        // The broker negates the header; Spring makes a property of it, without the sign.
        assertThat(properties.getReceivedDelayLong()).isEqualTo(delayMillis);
    }

    private static void assertTime(TargetConsumer.Arrived arrived, long delayMillis, long begun, long ended) {
        assertThat((arrived.nanoTime() - begun) / 1e6).as("never early").isGreaterThanOrEqualTo(delayMillis);
        assertThat((arrived.nanoTime() - ended) / 1e6).as("not late").isLessThan(delayMillis + LATE_MILLIS);
    }

    /** Broken if a message sent to arrive in two seconds arrived earlier, much later, elsewhere, or changed. */
    @Test
    void delayedMessageArrivesInTime() throws Exception {
        long begun = System.nanoTime();
        service.send("cancel order 42", 2000);
        long ended = System.nanoTime();
        TargetConsumer.Arrived arrived = arrivals.take();
        assertCame(arrived, DelayedPluginConfig.DELAYED_EXCHANGE, "cancel order 42", 2000);
        assertTime(arrived, 2000, begun, ended);
        assertThat(arrivals.queue).isEmpty();
    }

    /** Broken if the delay counted only as the long of setDelayLong: setDelay of Spring AMQP set an Integer before 3.1.2. */
    @Test
    void delayOfOlderVersionsCounts() throws Exception {
        long begun = System.nanoTime();
        template.convertAndSend(DelayedPluginConfig.DELAYED_EXCHANGE, DelayedPluginConfig.DELAYED_KEY, (Object) "older", message -> {
            message.getMessageProperties().setHeader(MessageProperties.X_DELAY, 500);
            return message;
        });
        long ended = System.nanoTime();
        TargetConsumer.Arrived arrived = arrivals.take();
        assertCame(arrived, DelayedPluginConfig.DELAYED_EXCHANGE, "older", 500);
        assertTime(arrived, 500, begun, ended);
    }

    /** Broken if a message waited for one that was sent before it with a longer delay. */
    @Test
    void shorterDelayOvertakesLonger() throws Exception {
        long begunLonger = System.nanoTime();
        service.send("in 3 s", 3000);
        long begun = System.nanoTime();
        service.send("in 1 s", 1000);
        long ended = System.nanoTime();
        TargetConsumer.Arrived first = arrivals.take();
        assertCame(first, DelayedPluginConfig.DELAYED_EXCHANGE, "in 1 s", 1000);
        assertTime(first, 1000, begun, ended);
        TargetConsumer.Arrived second = arrivals.take();
        assertCame(second, DelayedPluginConfig.DELAYED_EXCHANGE, "in 3 s", 3000);
        assertTime(second, 3000, begunLonger, begun);
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

    /** Broken if a delayed exchange could not be declared the other way that Spring has: by a flag of its own types. */
    @Test
    void exchangeWithTheFlagDelays() throws Exception {
        Exchange flagged = ExchangeBuilder.topicExchange("delayed.flagged").delayed().build();
        admin.declareExchange(flagged);
        admin.declareBinding(BindingBuilder.bind(config.targetQueue()).to(flagged).with("delayed.#").noargs());
        try {
            long begun = System.nanoTime();
            template.convertAndSend(flagged.getName(), DelayedPluginConfig.DELAYED_KEY, (Object) "flagged", message -> {
                message.getMessageProperties().setDelayLong(500L);
                return message;
            });
            long ended = System.nanoTime();
            TargetConsumer.Arrived arrived = arrivals.take();
            assertCame(arrived, flagged.getName(), "flagged", 500);
            assertTime(arrived, 500, begun, ended);
        } finally {
            admin.deleteExchange(flagged.getName());
        }
    }
}
