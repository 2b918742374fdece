package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What a run of the administration command left.
 *
 * @param text standard output and standard error together
 */
record Ctl(int exitCode, String text) {
    /** A cold rabbitmqctl boots a virtual machine; this is for one that hangs. */
    private static final long SECONDS_MAX = 60;

    /** Runs the command with these arguments. */
    static Ctl run(String... arguments) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(Target.CTL);
        words.addAll(Arrays.asList(arguments));
        return start(words);
    }

    /**
     * Runs a line that begins with "rabbitmqctl" as a POSIX shell reads it. The command itself is the target's,
     * through a shell function of that name, so the line is exactly what a reader of the documents would type.
     */
    static Ctl shell(String line) throws IOException, InterruptedException {
        String command = String.join(" ", Target.CTL);
        return start(List.of("sh", "-c", "rabbitmqctl() { " + command + " \"$@\"; }\n" + line));
    }

    /** Runs a line that begins with "rabbitmqctl" with the words a Windows program would receive. */
    static Ctl windows(String line) throws IOException, InterruptedException {
        List<String> words = WindowsWords.split(line);
        assertEquals("rabbitmqctl", words.get(0));
        return run(words.subList(1, words.size()).toArray(String[]::new));
    }

    Ctl succeeded() {
        assertEquals(0, exitCode, text);
        return this;
    }

    /** Checks the exit status (64: typed wrongly, 69: refused by the broker) and what was said. */
    Ctl failed(int expected, String words) {
        assertEquals(expected, exitCode, text);
        assertTrue(text.contains(words), () -> "should say \"" + words + "\": " + text);
        return this;
    }

    List<String> lines() {
        return text.lines().toList();
    }

    private static Ctl start(List<String> words) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(SECONDS_MAX, TimeUnit.SECONDS), "the command does not end");
        return new Ctl(process.exitValue(), text);
    }
}
