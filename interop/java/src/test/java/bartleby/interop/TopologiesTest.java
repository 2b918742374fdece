package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.MessageProperties;
import java.util.Map;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The other arrangements in which people use dead letters; the three of the programs are in ProgramsTest. */
class TopologiesTest {
    private static BasicProperties expiring(String millis) {
        return MessageProperties.PERSISTENT_TEXT_PLAIN.builder().expiration(millis).build();
    }

    /** Declares durable: normal.exchange - delay.key - delay.queue, dlx.exchange - dlx.key - dlx.queue. */
    private static Session delaySession(Recovery recovery) throws Exception {
        Session session = Session.open(recovery)
                .claimQueues("delay.queue", "dlx.queue").claimExchanges("normal.exchange", "dlx.exchange");
        session.channel().exchangeDeclare("normal.exchange", BuiltinExchangeType.DIRECT, true);
        session.channel().exchangeDeclare("dlx.exchange", BuiltinExchangeType.DIRECT, true);
        session.channel().queueDeclare("delay.queue", true, false, false, Map.of(
                "x-dead-letter-exchange", "dlx.exchange", "x-dead-letter-routing-key", "dlx.key"));
        session.channel().queueBind("delay.queue", "normal.exchange", "delay.key");
        session.channel().queueDeclare("dlx.queue", true, false, false, null);
        session.channel().queueBind("dlx.queue", "dlx.exchange", "dlx.key");
        return session;
    }

    private static Death delayDeath(String expiration) {
        return Death.expected("expired", "delay.queue", "normal.exchange", "delay.key").originalExpiration(expiration);
    }

    /** Broken if a message with an expiration came out of a queue without consumers at another time than that. */
    @ParameterizedTest
    @EnumSource
    void expirationDelaysMessage(Recovery recovery) throws Exception {
        try (Session session = delaySession(recovery)) {
            Inbox delayed = session.consume("dlx.queue");
            Published published = session.publish("normal.exchange", "delay.key", expiring("2000"), "later");
            delayed.take().came("dlx.exchange", "dlx.key", "later")
                    .arrivedAfter(2000, published)
                    .diedOnce(published.begun(), delayDeath("2000"));
            assertEquals(0, session.ready("delay.queue"));
        }
    }

    /** Broken if a message waited for the expiry of a longer-lived one in front of it, as it does on RabbitMQ. */
    @ParameterizedTest
    @EnumSource
    @EnabledIfEnvironmentVariable(named = "PRODUCT", matches = "bartleby",
            disabledReason = "other brokers expire messages only at the head of a queue")
    void shorterExpirationOvertakesLonger(Recovery recovery) throws Exception {
        try (Session session = delaySession(recovery)) {
            Inbox delayed = session.consume("dlx.queue");
            session.publish("normal.exchange", "delay.key", expiring("30000"), "in 30 s");
            Published second = session.publish("normal.exchange", "delay.key", expiring("1000"), "in 1 s");
            delayed.take().came("dlx.exchange", "dlx.key", "in 1 s")
                    .arrivedAfter(1000, second)
                    .diedOnce(second.begun(), delayDeath("1000"));
            delayed.isEmpty();
            assertEquals(1, session.ready("delay.queue"));
        }
    }

    /** Broken if a message that expires back into its own queue went round for ever. */
    @ParameterizedTest
    @EnumSource
    void expiryIntoTheSameQueueEndsTheCycle(Recovery recovery) throws Exception {
        try (Session session = Session.open(recovery)) {
            session.queue("myqueue", Map.of("x-dead-letter-exchange", ""));
            // The witness expires 500 ms after the cycle's message, so that nothing needs to be guessed.
            session.queue("myqueue.witness", Map.of("x-message-ttl", 600,
                    "x-dead-letter-exchange", "", "x-dead-letter-routing-key", "myqueue.seen"));
            session.queue("myqueue.seen", null);
            Inbox seen = session.consume("myqueue.seen");

            session.publish("", "myqueue", expiring("100"), "round and round");
            session.publish("", "myqueue.witness", "time is up");
            assertEquals("time is up", seen.take().body());
            assertEquals(0, session.ready("myqueue"));

            session.publish("", "myqueue", "afterwards");
            assertEquals("afterwards", new String(session.channel().basicGet("myqueue", true).getBody()));
            assertNull(session.channel().basicGet("myqueue", true));
        }
    }

    /** Broken if rejecting into the same queue were taken for a cycle: a consumer decided it, so it goes on. */
    @ParameterizedTest
    @EnumSource
    void rejectionIntoTheSameQueueGoesOn(Recovery recovery) throws Exception {
        try (Session session = Session.open(recovery)) {
            session.queue("myqueue", Map.of("x-dead-letter-exchange", ""));
            Inbox inbox = session.hold("myqueue");
            Published published = session.publish("", "myqueue", "again");
            Arrival arrival = inbox.take().came("", "myqueue", "again");
            Death death = Death.expected("rejected", "myqueue", "", "myqueue");
            for (long count = 1; count <= 12; count++) {
                session.channel().basicReject(arrival.deliveryTag(), false);
                arrival = inbox.take().came("", "myqueue", "again")
                        .died(published.begun(), death.times(count)).firstDeath(death).lastDeath(death);
            }
            session.channel().basicAck(arrival.deliveryTag(), false);
            assertEquals(0, session.ready("myqueue"));
        }
    }

    /** Broken if a queue's own dead-letter routing key, or without one the message's key, were not used. */
    @ParameterizedTest
    @EnumSource
    void someExchangeTakesDeadLetters(Recovery recovery) throws Exception {
        try (Session session = Session.open(recovery)) {
            session.exchange("some.exchange.name", BuiltinExchangeType.DIRECT);
            for (String key : new String[] {"myqueue", "some-routing-key", "demo-routing-key"}) {
                session.queue("dead." + key, null);
                session.channel().queueBind("dead." + key, "some.exchange.name", key);
            }
            assertDiesInto(session, Map.of("x-dead-letter-exchange", "some.exchange.name"), "myqueue");
            for (String key : new String[] {"some-routing-key", "demo-routing-key"}) {
                assertDiesInto(session, Map.of("x-dead-letter-exchange", "some.exchange.name",
                        "x-dead-letter-routing-key", key), key);
            }
        }
    }

    private static void assertDiesInto(Session session, Map<String, Object> arguments, String key) throws Exception {
        session.queue("myqueue", arguments);
        session.rejectAll("myqueue");
        Inbox deadLetters = session.consume("dead." + key);
        Published published = session.publish("", "myqueue", "to " + key);
        deadLetters.take().came("some.exchange.name", key, "to " + key)
                .diedOnce(published.begun(), Death.expected("rejected", "myqueue", "", "myqueue"));
    }

    /** Broken if a dead letter lost the key foo without the queue naming another, or kept it although it names bar. */
    @ParameterizedTest
    @EnumSource
    void fooStaysFooUntilTheQueueSaysBar(Recovery recovery) throws Exception {
        try (Session session = Session.open(recovery)) {
            session.exchange("foobar.exchange", BuiltinExchangeType.DIRECT);
            session.exchange("foobar.dlx", BuiltinExchangeType.TOPIC);
            session.queue("foobar.dead", null);
            session.channel().queueBind("foobar.dead", "foobar.dlx", "#");
            Inbox deadLetters = session.consume("foobar.dead");

            for (String key : new String[] {"foo", "bar"}) {
                session.queue("foobar.queue", key.equals("foo")
                        ? Map.of("x-dead-letter-exchange", "foobar.dlx")
                        : Map.of("x-dead-letter-exchange", "foobar.dlx", "x-dead-letter-routing-key", "bar"));
                session.channel().queueBind("foobar.queue", "foobar.exchange", "foo");
                session.rejectAll("foobar.queue");
                Published published = session.publish("foobar.exchange", "foo", "hello");
                deadLetters.take().came("foobar.dlx", key, "hello").diedOnce(published.begun(),
                        Death.expected("rejected", "foobar.queue", "foobar.exchange", "foo"));
            }
        }
    }

    /** Broken if a second death overwrote the first, came behind it in x-death, or changed the first-death headers. */
    @ParameterizedTest
    @EnumSource
    void deathsAddUpMostRecentFirst(Recovery recovery) throws Exception {
        try (Session session = Session.open(recovery)) {
            session.exchange("deaths.dlx", BuiltinExchangeType.FANOUT);
            session.queue("deaths.first", Map.of("x-dead-letter-exchange", "deaths.dlx"));
            session.queue("deaths.second", Map.of("x-message-ttl", 200,
                    "x-dead-letter-exchange", "", "x-dead-letter-routing-key", "deaths.third"));
            session.channel().queueBind("deaths.second", "deaths.dlx", "");
            session.queue("deaths.third", null);
            session.rejectAll("deaths.first");
            Inbox inbox = session.consume("deaths.third");

            Published published = session.publish("", "deaths.first", "twice");
            Death first = Death.expected("rejected", "deaths.first", "", "deaths.first");
            Death second = Death.expected("expired", "deaths.second", "deaths.dlx", "deaths.first");
            inbox.take().came("", "deaths.third", "twice")
                    .arrivedAfter(200, published)
                    .died(published.begun(), second, first).firstDeath(first).lastDeath(second);
        }
    }
}
