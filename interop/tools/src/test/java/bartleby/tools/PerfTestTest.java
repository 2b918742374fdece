package bartleby.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** RabbitMQ's load generator, as a process of its own, with the options that its documents show. */
class PerfTestTest {
    private static final long SECONDS_MAX = 60;

    // Broken if persistent messages to a quorum queue were not confirmed, or confirmed ones not consumed.
    @Test
    void quorumQueue() throws Exception {
        String text = run("--producers", "1", "--consumers", "1", "--quorum-queue", "--queue", "interop.perf.quorum",
                "--confirm", "20", "--qos", "100", "--multi-ack-every", "10", "--pmessages", "2000", "--cmessages", "2000",
                "--time", "30");
        assertTrue(text.contains("Producer reached message limit") && text.contains("Consumer reached message limit"), text);
        assertTrue(text.contains("consumer latency") && text.contains("confirm latency"), text);
    }

    // Broken if many queues, each with a publisher and consumers, limits of queues and of the rate did not work.
    @Test
    void manyQueues() throws Exception {
        String text = run("--queue-pattern", "interop.perf.%d", "--queue-pattern-from", "1", "--queue-pattern-to", "5",
                "--producers", "5", "--consumers", "10", "--rate", "100", "--size", "1000", "--flag", "persistent",
                "--queue-args", "x-max-length=1000,x-message-ttl=60000", "--autoack", "--time", "3");
        long sent = average(text, "sending");
        assertTrue(sent > 50, text);
        assertEquals(sent, average(text, "receiving"), sent * 0.2, text);
    }

    /** Messages a second, from the summary at the end. */
    private static long average(String text, String doing) {
        Matcher m = Pattern.compile(doing + " rate avg: (\\d+) msg/s").matcher(text);
        assertTrue(m.find(), text);
        return Long.parseLong(m.group(1));
    }

    private static String run(String... options) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java",
                "-cp", System.getProperty("java.class.path"), "com.rabbitmq.perf.PerfTest",
                "--uri", Target.AMQP_URL.toString().replaceFirst("/$", "/%2f")));
        words.addAll(Arrays.asList(options));
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(SECONDS_MAX, TimeUnit.SECONDS), text);
        assertEquals(0, process.exitValue(), text);
        return text;
    }
}
