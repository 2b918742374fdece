package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.rabbitmq.client.impl.LongStringHelper;
import java.time.Instant;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The reader of x-death itself, without a broker: it must be able to fail. */
class DeathTest {
    private static Map<String, Object> entry() {
        Map<String, Object> entry = new HashMap<>();
        entry.put("count", 1L);
        entry.put("reason", LongStringHelper.asLongString("rejected"));
        entry.put("queue", LongStringHelper.asLongString("q"));
        entry.put("time", Date.from(Instant.ofEpochSecond(1_700_000_000)));
        entry.put("exchange", LongStringHelper.asLongString("x"));
        entry.put("routing-keys", List.of(LongStringHelper.asLongString("k")));
        return entry;
    }

    private static void assertRefused(String field, Object value) {
        Map<String, Object> entry = entry();
        if (value == null) {
            entry.remove(field);
        } else {
            entry.put(field, value);
        }
        assertThrows(AssertionError.class, () -> Death.parse(List.of(entry)), field + " = " + value);
    }

    /** Broken if a right entry were taken for a wrong one. */
    @Test
    void readsEveryField() {
        assertEquals(List.of(Death.expected("rejected", "q", "x", "k")),
                Death.parse(List.of(entry())).stream().map(Death::withoutTime).toList());
    }

    /** Broken if a broker that sends another wire type, or one field too few or too many, passed. */
    @Test
    void refusesWrongTypesAndFields() {
        assertRefused("count", 1);
        assertRefused("count", null);
        assertRefused("reason", "rejected");
        assertRefused("time", 1_700_000_000L);
        assertRefused("time", Date.from(Instant.ofEpochMilli(1_700_000_000_123L)));
        assertRefused("routing-keys", LongStringHelper.asLongString("k"));
        assertRefused("original-expiration", 1000);
        assertRefused("surprise", 1);
    }
}
