package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The splitter of Windows command lines itself, without a broker. */
class WindowsWordsTest {
    /** Broken if the Windows line of the documents became other words than a Windows program receives. */
    @Test
    void doublesAreQuotes() {
        assertEquals(
                List.of("rabbitmqctl", "set_policy", "DLX", ".*", "{\"dead-letter-exchange\":\"my-dlx\"}",
                        "--apply-to", "queues"),
                WindowsWords.split(PolicyTest.WINDOWS_LINE));
    }

    @Test
    void quotesKeepBlanksAndEmptyWords() {
        assertEquals(List.of("a b", "", "c"), WindowsWords.split("\"a b\"  \"\" c"));
    }
}
