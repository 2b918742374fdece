package bartleby.interop;

import java.time.Instant;

/**
 * When a message was published.
 *
 * @param begun wall clock before the publish was sent, for comparison with x-death
 * @param begunNanos the same moment by System.nanoTime: no deadline of the message can be earlier than counted from it
 * @param confirmedNanos when the broker had confirmed it: its deadlines count from here at the latest
 */
record Published(Instant begun, long begunNanos, long confirmedNanos) {}
