package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What a consumer received and the test has not looked at yet. */
final class Inbox {
    private final BlockingQueue<Arrival> arrivals = new LinkedBlockingQueue<>();

    void add(Arrival arrival) {
        arrivals.add(arrival);
    }

    /** The next message; waits for it, ten seconds at most. */
    Arrival take() throws InterruptedException {
        Arrival arrival = arrivals.poll(10, TimeUnit.SECONDS);
        assertNotNull(arrival, "no message within 10 s");
        return arrival;
    }

    void isEmpty() {
        assertNull(arrivals.peek(), "one message too many");
    }
}
