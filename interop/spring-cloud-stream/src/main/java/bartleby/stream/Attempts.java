package bartleby.stream;

import java.util.List;
import java.util.Map;
import org.springframework.amqp.support.AmqpHeaders;
import org.springframework.messaging.MessageHeaders;

/** How often a message has been tried. */
final class Attempts {
    /** So many failures, and the message is parked. */
    static final long MAX = 3;

    private Attempts() {}

    /** How often the broker dead-lettered the message from where it last died: the count of the newest x-death. */
    static long byDeaths(MessageHeaders headers) {
        return headers.get("x-death") instanceof List<?> deaths
                        && !deaths.isEmpty()
                        && deaths.get(0) instanceof Map<?, ?> newest
                        && newest.get("count") instanceof Long count
                ? count
                : 0;
    }

    /** How often the binder published the message to the DLQ, which it counts in a header of its own. */
    static long byHeader(MessageHeaders headers) {
        return headers.get(AmqpHeaders.RETRY_COUNT) instanceof Number count ? count.longValue() : 0;
    }
}
