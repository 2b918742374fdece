package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import bartleby.examples.ExpireExample;
import bartleby.examples.LengthLimitExample;
import bartleby.examples.RejectExample;
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.MessageProperties;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The three programs: rejected, expired after 5 seconds, length limit of 5. Nothing in them is durable. */
class ProgramsTest {
    private static Session rejectSession(Recovery recovery) throws Exception {
        return Session.open(recovery)
                .claimQueues(RejectExample.QUEUE, RejectExample.DEAD_LETTER_QUEUE)
                .claimExchanges(RejectExample.EXCHANGE, RejectExample.DEAD_LETTER_EXCHANGE);
    }

    private static Session expireSession(Recovery recovery) throws Exception {
        return Session.open(recovery)
                .claimQueues(ExpireExample.QUEUE, ExpireExample.DEAD_LETTER_QUEUE)
                .claimExchanges(ExpireExample.EXCHANGE, ExpireExample.DEAD_LETTER_EXCHANGE);
    }

    private static Session lengthLimitSession(Recovery recovery) throws Exception {
        return Session.open(recovery)
                .claimQueues(LengthLimitExample.QUEUE, LengthLimitExample.DEAD_LETTER_QUEUE)
                .claimExchanges(LengthLimitExample.EXCHANGE, LengthLimitExample.DEAD_LETTER_EXCHANGE);
    }

    private static Death rejectedDeath() {
        return Death.expected("rejected", RejectExample.QUEUE, RejectExample.EXCHANGE, RejectExample.ROUTING_KEY);
    }

    private static Death maxlenDeath() {
        return Death.expected("maxlen", LengthLimitExample.QUEUE, LengthLimitExample.EXCHANGE,
                LengthLimitExample.ROUTING_KEY);
    }

    /** Broken if what a consumer rejects did not reach the dead-letter queue, marked as rejected. */
    @ParameterizedTest
    @EnumSource
    void rejectedMessageBecomesDeadLetter(Recovery recovery) throws Exception {
        try (Session session = rejectSession(recovery)) {
            RejectExample.declare(session.channel());
            Inbox deadLetters = session.consume(RejectExample.DEAD_LETTER_QUEUE);
            RejectExample.rejectAll(session.channel());

            Published first = session.confirmed(() -> RejectExample.publish(session.channel(), "first"));
            deadLetters.take().came(RejectExample.DEAD_LETTER_EXCHANGE, RejectExample.DEAD_LETTER_ROUTING_KEY, "first")
                    .diedOnce(first.begun(), rejectedDeath())
                    .arrivedAfter(0, first);

            Published second = session.confirmed(() -> RejectExample.publish(session.channel(), "second"));
            deadLetters.take().came(RejectExample.DEAD_LETTER_EXCHANGE, RejectExample.DEAD_LETTER_ROUTING_KEY, "second")
                    .diedOnce(second.begun(), rejectedDeath());
            deadLetters.isEmpty();
            assertEquals(0, session.ready(RejectExample.QUEUE));
        }
    }

    /** Broken if one nack for many lost one of them, or changed their order. */
    @ParameterizedTest
    @EnumSource
    void oneNackForManyKeepsTheirOrder(Recovery recovery) throws Exception {
        try (Session session = rejectSession(recovery)) {
            RejectExample.declare(session.channel());
            Inbox deadLetters = session.consume(RejectExample.DEAD_LETTER_QUEUE);
            Inbox held = session.hold(RejectExample.QUEUE);
            Published published = session.confirmed(() -> {
                for (int n = 1; n <= 10; n++) {
                    RejectExample.publish(session.channel(), "message " + n);
                }
            });
            long last = 0;
            for (int n = 1; n <= 10; n++) {
                last = held.take().deliveryTag();
            }
            session.channel().basicNack(last, true, false);
            for (int n = 1; n <= 10; n++) {
                deadLetters.take()
                        .came(RejectExample.DEAD_LETTER_EXCHANGE, RejectExample.DEAD_LETTER_ROUTING_KEY, "message " + n)
                        .diedOnce(published.begun(), rejectedDeath());
            }
        }
    }

    /** Broken if dying changed a property or header the publisher had set, or kept the expiration. */
    @ParameterizedTest
    @EnumSource
    void dyingKeepsPropertiesAndHeaders(Recovery recovery) throws Exception {
        try (Session session = rejectSession(recovery)) {
            RejectExample.declare(session.channel());
            Inbox deadLetters = session.consume(RejectExample.DEAD_LETTER_QUEUE);
            RejectExample.rejectAll(session.channel());
            BasicProperties sent = MessageProperties.PERSISTENT_TEXT_PLAIN.builder()
                    .contentEncoding("identity").correlationId("c-1").replyTo("reply").messageId("m-1")
                    .type("order").appId("interop").priority(3).expiration("60000")
                    .headers(Map.of("attempt", 7, "tenant", "blue")).build();

            Published published = session.publish(RejectExample.EXCHANGE, RejectExample.ROUTING_KEY, sent, "whole");
            Arrival arrival = deadLetters.take()
                    .came(RejectExample.DEAD_LETTER_EXCHANGE, RejectExample.DEAD_LETTER_ROUTING_KEY, "whole")
                    .diedOnce(published.begun(), rejectedDeath().originalExpiration("60000"));

            BasicProperties got = arrival.delivery().getProperties();
            assertEquals(sent.builder().expiration(null).headers(null).build(), got.builder().headers(null).build());
            assertEquals(7, arrival.headers().get("attempt"));
            assertEquals("blue", Death.text(arrival.headers().get("tenant"), "tenant"));
        }
    }

    /** Broken if a message lived longer or shorter than its queue's TTL, or died for another reason. */
    @ParameterizedTest
    @EnumSource
    void expiredMessageBecomesDeadLetter(Recovery recovery) throws Exception {
        try (Session session = expireSession(recovery)) {
            ExpireExample.declare(session.channel());
            Inbox deadLetters = session.consume(ExpireExample.DEAD_LETTER_QUEUE);

            Published published = session.confirmed(() -> ExpireExample.publish(session.channel(), "too late"));
            deadLetters.take()
                    .came(ExpireExample.DEAD_LETTER_EXCHANGE, ExpireExample.DEAD_LETTER_ROUTING_KEY, "too late")
                    .arrivedAfter(ExpireExample.TTL_MILLIS, published)
                    .diedOnce(published.begun(), Death.expected("expired", ExpireExample.QUEUE, ExpireExample.EXCHANGE,
                            ExpireExample.ROUTING_KEY));
            deadLetters.isEmpty();
            assertEquals(0, session.ready(ExpireExample.QUEUE));
        }
    }

    /** Broken if a full queue dropped another message than its oldest, or held more than its limit. */
    @ParameterizedTest
    @EnumSource
    void oldestOverTheLimitBecomesDeadLetter(Recovery recovery) throws Exception {
        try (Session session = lengthLimitSession(recovery)) {
            LengthLimitExample.declare(session.channel());
            Inbox deadLetters = session.consume(LengthLimitExample.DEAD_LETTER_QUEUE);

            Published published = session.confirmed(() -> {
                for (int n = 1; n <= 7; n++) {
                    LengthLimitExample.publish(session.channel(), "message " + n);
                }
            });
            for (int n = 1; n <= 2; n++) {
                deadLetters.take()
                        .came(LengthLimitExample.DEAD_LETTER_EXCHANGE, LengthLimitExample.DEAD_LETTER_ROUTING_KEY,
                                "message " + n)
                        .diedOnce(published.begun(), maxlenDeath())
                        .arrivedAfter(0, published);
            }
            assertEquals(5, session.ready(LengthLimitExample.QUEUE));
            assertEquals(List.of("message 3", "message 4", "message 5", "message 6", "message 7"),
                    drain(session, LengthLimitExample.QUEUE));
            deadLetters.isEmpty();
        }
    }

    /** Broken if reject-publish took a message over the limit, or made dead letters of what it refused. */
    @ParameterizedTest
    @EnumSource
    void rejectPublishRefusesTheNewest(Recovery recovery) throws Exception {
        try (Session session = lengthLimitSession(recovery)) {
            session.exchange(LengthLimitExample.DEAD_LETTER_EXCHANGE, BuiltinExchangeType.FANOUT);
            session.queue(LengthLimitExample.DEAD_LETTER_QUEUE, null);
            session.channel().queueBind(
                    LengthLimitExample.DEAD_LETTER_QUEUE, LengthLimitExample.DEAD_LETTER_EXCHANGE, "");
            session.queue(LengthLimitExample.QUEUE, Map.of(
                    "x-dead-letter-exchange", LengthLimitExample.DEAD_LETTER_EXCHANGE,
                    "x-max-length", 1, "x-overflow", "reject-publish"));

            session.publish("", LengthLimitExample.QUEUE, "kept");
            session.channel().basicPublish("", LengthLimitExample.QUEUE, null,
                    "refused".getBytes(StandardCharsets.UTF_8));
            assertFalse(session.channel().waitForConfirms(10_000), "the second should be nacked");

            assertEquals(List.of("kept"), drain(session, LengthLimitExample.QUEUE));
            assertNull(session.channel().basicGet(LengthLimitExample.DEAD_LETTER_QUEUE, true), "nothing died");
        }
    }

    private static List<String> drain(Session session, String queue) throws Exception {
        List<String> bodies = new ArrayList<>();
        for (GetResponse got; (got = session.channel().basicGet(queue, true)) != null; ) {
            assertNotNull(got.getBody());
            assertTrue(got.getProps().getHeaders() == null, "what did not die carries no death");
            bodies.add(new String(got.getBody(), StandardCharsets.UTF_8));
        }
        return bodies;
    }
}
