package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What a consumer received and the test has not looked at yet. */
final class Inbox {
    private final BlockingQueue<Letter> letters = new LinkedBlockingQueue<>();

    void add(Letter letter) {
        letters.add(letter);
    }

    /** The next letter; waits for it, ten seconds at most. */
    Letter take() throws InterruptedException {
        Letter letter = letters.poll(10, TimeUnit.SECONDS);
        assertNotNull(letter, "no letter within 10 s");
        return letter;
    }

    void isEmpty() {
        assertNull(letters.peek(), "one letter too many");
    }
}
