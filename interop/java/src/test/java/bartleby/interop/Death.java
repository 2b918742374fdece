package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.rabbitmq.client.LongString;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * One entry of x-death. Parsing checks the wire types, which the client keeps apart: longstr arrives as LongString,
 * a signed 64-bit number as Long, a timestamp as Date, an array as List, a table as Map.
 *
 * @param originalExpiration null when the message had no expiration at that death
 * @param time of the first death with this queue and reason, whole seconds; null in what a test expects
 */
record Death(String reason, String queue, String exchange, List<String> routingKeys, long count,
             String originalExpiration, Instant time) {

    private static final Set<String> FIELDS = Set.of("reason", "queue", "exchange", "routing-keys", "count", "time");

    /** What a test expects of the first death in a queue for a reason. */
    static Death expected(String reason, String queue, String exchange, String... routingKeys) {
        return new Death(reason, queue, exchange, List.of(routingKeys), 1, null, null);
    }

    Death times(long count) {
        return new Death(reason, queue, exchange, routingKeys, count, originalExpiration, time);
    }

    Death originalExpiration(String expiration) {
        return new Death(reason, queue, exchange, routingKeys, count, expiration, time);
    }

    Death withoutTime() {
        return new Death(reason, queue, exchange, routingKeys, count, originalExpiration, null);
    }

    /** Parses the value of the header x-death, the most recent death first. */
    static List<Death> parse(Object header) {
        List<?> entries = assertInstanceOf(List.class, header, "x-death is an array");
        return entries.stream().map(Death::parseEntry).toList();
    }

    private static Death parseEntry(Object entry) {
        Map<?, ?> fields = assertInstanceOf(Map.class, entry, "an entry of x-death is a table");
        Set<Object> others = new TreeSet<>(fields.keySet());
        others.removeAll(FIELDS);
        others.remove("original-expiration");
        assertTrue(others.isEmpty(), () -> "unknown fields in x-death: " + others);
        assertTrue(fields.keySet().containsAll(FIELDS), () -> "fields missing in x-death: " + fields);
        List<?> keys = assertInstanceOf(List.class, fields.get("routing-keys"), "routing-keys is an array");
        Date time = assertInstanceOf(Date.class, fields.get("time"), "time is a timestamp");
        assertEquals(0, time.getTime() % 1000, "time counts seconds");
        return new Death(
                text(fields.get("reason"), "reason"),
                text(fields.get("queue"), "queue"),
                text(fields.get("exchange"), "exchange"),
                keys.stream().map(key -> text(key, "a routing key")).toList(),
                assertInstanceOf(Long.class, fields.get("count"), "count is a signed 64-bit number"),
                fields.containsKey("original-expiration")
                        ? text(fields.get("original-expiration"), "original-expiration") : null,
                time.toInstant());
    }

    /** The text of a longstr; fails for any other type. */
    static String text(Object value, String name) {
        return assertInstanceOf(LongString.class, value, name + " is a longstr").toString();
    }
}
