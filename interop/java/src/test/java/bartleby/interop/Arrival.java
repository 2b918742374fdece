package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.rabbitmq.client.Delivery;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** One delivery and the moment (System.nanoTime) it reached this program. */
record Arrival(Delivery delivery, long nanoTime) {

    String body() {
        return new String(delivery.getBody(), StandardCharsets.UTF_8);
    }

    String exchange() {
        return delivery.getEnvelope().getExchange();
    }

    String routingKey() {
        return delivery.getEnvelope().getRoutingKey();
    }

    boolean redelivered() {
        return delivery.getEnvelope().isRedeliver();
    }

    long deliveryTag() {
        return delivery.getEnvelope().getDeliveryTag();
    }

    Map<String, Object> headers() {
        Map<String, Object> headers = delivery.getProperties().getHeaders();
        return headers == null ? Map.of() : headers;
    }

    List<Death> deaths() {
        return Death.parse(headers().get("x-death"));
    }

    Arrival came(String exchange, String routingKey, String body) {
        assertEquals(body, body(), "body");
        assertEquals(exchange, exchange(), "exchange");
        assertEquals(routingKey, routingKey(), "routing key");
        assertFalse(redelivered(), "a dead letter is not a redelivery");
        return this;
    }

    /**
     * Checks everything the broker wrote into the message: x-death, most recent first, with times between the given
     * instant and now; the first death, and where the product knows them, the last; no expiration any more.
     */
    Arrival died(Instant since, Death... expected) {
        List<Death> deaths = deaths();
        assertEquals(Arrays.asList(expected), deaths.stream().map(Death::withoutTime).toList(), "x-death");
        for (Death death : deaths) {
            assertFalse(death.time().isBefore(since.truncatedTo(ChronoUnit.SECONDS)), "died before it was published");
            assertFalse(death.time().isAfter(Instant.now()), "died in the future");
        }
        assertNull(delivery.getProperties().getExpiration(), "a dead letter has no expiration");
        return this;
    }

    Arrival firstDeath(Death death) {
        assertHeaders("x-first-death-", death);
        return this;
    }

    /** RabbitMQ writes these since 3.13; an older one is held to nothing. */
    Arrival lastDeath(Death death) {
        if (Target.BARTLEBY || headers().containsKey("x-last-death-reason")) {
            assertHeaders("x-last-death-", death);
        }
        return this;
    }

    /** The whole check of a message that died once. */
    Arrival diedOnce(Instant since, Death death) {
        return died(since, death).firstDeath(death).lastDeath(death);
    }

    private void assertHeaders(String prefix, Death death) {
        assertEquals(death.reason(), Death.text(headers().get(prefix + "reason"), prefix + "reason"));
        assertEquals(death.queue(), Death.text(headers().get(prefix + "queue"), prefix + "queue"));
        assertEquals(death.exchange(), Death.text(headers().get(prefix + "exchange"), prefix + "exchange"));
    }

    /**
     * Checks that the message came no earlier than the delay after its publication began, and not much later than the
     * delay after the broker had it.
     */
    Arrival arrivedAfter(long delayMillis, Published published) {
        assertNotNull(published);
        double earliest = (nanoTime - published.begunNanos()) / 1e6;
        double latest = (nanoTime - published.confirmedNanos()) / 1e6;
        assertTrue(earliest >= delayMillis, () -> "early: " + earliest + " ms after publish, not " + delayMillis);
        assertTrue(latest <= delayMillis + Session.LATE_MILLIS,
                () -> "late: " + latest + " ms after the confirm, not " + delayMillis);
        return this;
    }
}
