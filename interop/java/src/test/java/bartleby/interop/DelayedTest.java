package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import bartleby.examples.DelayedExample;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Messages that arrive later, through an exchange of the type x-delayed-message or by the instant in a header. */
@EnabledIfEnvironmentVariable(named = "PRODUCT", matches = "bartleby",
        disabledReason = "other brokers need a plugin for x-delayed-message")
class DelayedTest {
    private static Session session(Recovery recovery) throws Exception {
        Session session = Session.open(recovery)
                .claimQueues(DelayedExample.QUEUE).claimExchanges(DelayedExample.EXCHANGE);
        DelayedExample.declare(session.channel());
        return session;
    }

    private static void assertCame(Arrival arrival, String body, long delayMillis, Published published) {
        arrival.came(DelayedExample.EXCHANGE, DelayedExample.ROUTING_KEY, body).arrivedAfter(delayMillis, published);
        assertEquals(Map.of("x-delay", -delayMillis), arrival.headers(), "the negated delay, a Long");
    }

    /** Broken if a message came early or late, waited for one with a longer delay, or came back though mandatory. */
    @ParameterizedTest
    @EnumSource
    void everyMessageComesWhenItsDelayIsOver(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            Queue<Return> returned = new ConcurrentLinkedQueue<>();
            session.channel().addReturnListener(returned::add);
            Inbox arrived = session.consume(DelayedExample.QUEUE);
            Published longer = session.confirmed(() -> DelayedExample.publish(session.channel(), "in 3 s", 3000));
            Published shorter = session.confirmed(() -> DelayedExample.publish(session.channel(), "in 1 s", 1000L));
            assertCame(arrived.take(), "in 1 s", 1000, shorter);
            assertCame(arrived.take(), "in 3 s", 3000, longer);
            arrived.isEmpty();
            assertEquals(List.of(), List.copyOf(returned));
        }
    }

    /** Broken if what is due in the same millisecond overtook each other. */
    @ParameterizedTest
    @EnumSource
    void equalDelaysKeepTheirOrder(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            Inbox arrived = session.consume(DelayedExample.QUEUE);
            session.confirmed(() -> {
                for (int n = 0; n < 100; n++) {
                    DelayedExample.publish(session.channel(), "message " + n, 500);
                }
            });
            for (int n = 0; n < 100; n++) {
                assertEquals("message " + n, arrived.take().body());
            }
        }
    }

    /** Broken if a queue that is bound while a message waits did not get it. */
    @ParameterizedTest
    @EnumSource
    void bindingsCountWhenTheMessageIsDue(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            session.channel().queueUnbind(DelayedExample.QUEUE, DelayedExample.EXCHANGE, DelayedExample.ROUTING_KEY);
            Inbox arrived = session.consume(DelayedExample.QUEUE);
            Published published = session.confirmed(() -> DelayedExample.publish(session.channel(), "m", 1000));
            session.channel().queueBind(DelayedExample.QUEUE, DelayedExample.EXCHANGE, DelayedExample.ROUTING_KEY);
            assertCame(arrived.take(), "m", 1000, published);
        }
    }

    /** Broken if a delay that means nothing were taken for no delay. */
    @ParameterizedTest
    @EnumSource
    void nonsenseIsRefused(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            Inbox arrived = session.consume(DelayedExample.QUEUE);
            Channel other = session.connection().createChannel();
            other.confirmSelect();
            other.basicPublish(DelayedExample.EXCHANGE, DelayedExample.ROUTING_KEY,
                    new BasicProperties.Builder().headers(Map.of("x-delay", "soon")).build(), new byte[0]);
            ShutdownSignalException refusal =
                    assertThrows(ShutdownSignalException.class, () -> other.waitForConfirms(10_000));
            AMQP.Channel.Close close = (AMQP.Channel.Close) refusal.getReason();
            assertEquals(406, close.getReplyCode());
            assertEquals("PRECONDITION_FAILED - invalid x-delay 'soon'", close.getReplyText());
            arrived.isEmpty();
        }
    }

    /** Broken if a message that names the instant of its delivery did not wait in its queue until then. */
    @ParameterizedTest
    @EnumSource
    void messageWaitsForItsInstant(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            Inbox arrived = session.consume(DelayedExample.QUEUE);
            long millis = System.currentTimeMillis() + 1000;
            long nanos = System.nanoTime();
            session.publish("", DelayedExample.QUEUE,
                    new BasicProperties.Builder().headers(Map.of("x-opt-delivery-time", millis)).build(), "later");
            session.publish("", DelayedExample.QUEUE, "now");
            arrived.take().came("", DelayedExample.QUEUE, "now");
            Arrival later = arrived.take().came("", DelayedExample.QUEUE, "later");
            double waited = (later.nanoTime() - nanos) / 1e6;
            // The instant was cut to a millisecond, and by another clock.
            assertTrue(waited >= 998 && waited <= 1000 + Session.LATE_MILLIS,
                    () -> "came after " + waited + " ms, not 1000");
        }
    }
}
