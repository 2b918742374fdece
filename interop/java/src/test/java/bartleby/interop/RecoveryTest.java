package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import bartleby.examples.RejectExample;
import com.rabbitmq.client.Recoverable;
import com.rabbitmq.client.RecoveryListener;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A consumer loses its connection while it holds a message; the message must not be lost, nor die of it. */
class RecoveryTest {
    private static final Death DEATH = Death.expected("rejected", RejectExample.QUEUE, RejectExample.EXCHANGE,
            RejectExample.ROUTING_KEY);

    private static void claim(Session session) throws Exception {
        session.claimQueues(RejectExample.QUEUE, RejectExample.DEAD_LETTER_QUEUE)
                .claimExchanges(RejectExample.EXCHANGE, RejectExample.DEAD_LETTER_EXCHANGE);
    }

    /** Broken if the client could not redeclare what it had declared, or its consumers got nothing any more. */
    @Test
    void automaticRecoveryGoesOnAfterCut() throws Exception {
        try (Relay relay = new Relay();
                Session session = new Session(Target.connect(Recovery.AUTOMATIC, relay.port()))) {
            claim(session);
            RejectExample.declare(session.channel());
            Inbox deadLetters = session.consume(RejectExample.DEAD_LETTER_QUEUE);
            Inbox held = session.hold(RejectExample.QUEUE);
            Published published = session.confirmed(() -> RejectExample.publish(session.channel(), "held"));
            assertFalse(held.take().redelivered());

            for (int round = 1; round <= 2; round++) {
                CountDownLatch recovered = whenRecovered(session);
                relay.cut();
                assertTrue(recovered.await(20, TimeUnit.SECONDS), "the client did not recover");
                Arrival again = held.take();
                assertTrue(again.redelivered(), "what a lost connection held comes again, flagged");
                held.isEmpty();
                if (round == 2) {
                    session.channel().basicReject(again.deliveryTag(), false);
                }
            }
            deadLetters.take()
                    .came(RejectExample.DEAD_LETTER_EXCHANGE, RejectExample.DEAD_LETTER_ROUTING_KEY, "held")
                    .diedOnce(published.begun(), DEATH);
            deadLetters.isEmpty();
        }
    }

    /** Broken if a client that does not recover were left connected, or its message were lost or dead-lettered. */
    @Test
    void secondConnectionTakesOverAfterCut() throws Exception {
        try (Session second = Session.open(Recovery.NONE)) {
            claim(second);
            Published published;
            try (Relay relay = new Relay();
                    Session first = new Session(Target.connect(Recovery.NONE, relay.port()))) {
                RejectExample.declare(first.channel());
                Inbox held = first.hold(RejectExample.QUEUE);
                published = first.confirmed(() -> RejectExample.publish(first.channel(), "held"));
                held.take();
                CountDownLatch shutDown = new CountDownLatch(1);
                first.connection().addShutdownListener(cause -> shutDown.countDown());
                relay.cut();
                assertTrue(shutDown.await(20, TimeUnit.SECONDS), "the client did not notice");
                assertFalse(first.connection().isOpen());
            }
            Inbox deadLetters = second.consume(RejectExample.DEAD_LETTER_QUEUE);
            Arrival again = second.rejectAll(RejectExample.QUEUE).take();
            assertTrue(again.redelivered(), "what a lost connection held comes again, flagged");
            assertFalse(again.headers().containsKey("x-death"), "a lost connection is not a death");
            deadLetters.take()
                    .came(RejectExample.DEAD_LETTER_EXCHANGE, RejectExample.DEAD_LETTER_ROUTING_KEY, "held")
                    .diedOnce(published.begun(), DEATH);
        }
    }

    private static CountDownLatch whenRecovered(Session session) {
        CountDownLatch recovered = new CountDownLatch(1);
        ((Recoverable) session.connection()).addRecoveryListener(new RecoveryListener() {
            @Override
            public void handleRecovery(Recoverable recoverable) {
                recovered.countDown();
            }

            @Override
            public void handleRecoveryStarted(Recoverable recoverable) {
                // Its end is what the test waits for.
            }
        });
        return recovered;
    }
}
