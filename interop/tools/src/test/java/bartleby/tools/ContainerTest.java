package bartleby.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.command.LogContainerCmd;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.StreamType;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.RabbitMQContainer;
import org.testcontainers.containers.wait.internal.ExternalPortListeningCheck;
import org.testcontainers.containers.wait.strategy.WaitStrategy;
import org.testcontainers.containers.wait.strategy.WaitStrategyTarget;
import org.testcontainers.utility.DockerImageName;

/**
 * What Testcontainers waits for before it calls a RabbitMQ started. Its own strategy reads the log that the broker has
 * printed; only Docker, which would hand that over, is played.
 */
class ContainerTest {
    private static final int AMQP = 5672;
    private static final int MANAGEMENT = 15672;

    // Broken if Testcontainers waited for ever for a broker that serves.
    @Test
    void startsByItsLog() throws IOException {
        assumeFalse(Target.LOG.toString().isEmpty(), "nobody knows the broker's log");
        List<String> lines = Files.readAllLines(Target.LOG);
        Container container = new Container(lines);
        strategy().withStartupTimeout(Duration.ofSeconds(10)).waitUntilReady(container);
        assertTrue(new ExternalPortListeningCheck(container, Set.of(container.getMappedPort(AMQP), container.getMappedPort(MANAGEMENT))).call());
    }

    // Broken if it were called started before its ports were open: the line that is waited for comes after all of them.
    @Test
    void waitsForThePorts() throws IOException {
        assumeFalse(Target.LOG.toString().isEmpty(), "nobody knows the broker's log");
        List<String> before = Files.readAllLines(Target.LOG).stream()
                .takeWhile(l -> !l.contains("Server startup complete")).toList();
        assertTrue(before.stream().anyMatch(l -> l.contains("listener on") && l.endsWith(":" + Target.AMQP_URL.getPort())),
                before.toString());
        Container container = new Container(before);
        assertThrows(ContainerLaunchException.class,
                () -> strategy().withStartupTimeout(Duration.ofSeconds(1)).waitUntilReady(container));
    }

    // Broken if the test above could not fail: a port that nobody listens on.
    @Test
    void closedPort() throws IOException {
        int closed;
        try (ServerSocket socket = new ServerSocket(0)) {
            closed = socket.getLocalPort();
        }
        Container container = new Container(List.of());
        assertThrows(IllegalStateException.class, () -> new ExternalPortListeningCheck(container, Set.of(closed)).call());
    }

    private static WaitStrategy strategy() {
        return new Started().strategy();
    }

    /** Testcontainers' own container of RabbitMQ, which shows how it waits. */
    private static final class Started extends RabbitMQContainer {
        Started() {
            super(DockerImageName.parse("rabbitmq:4"));
        }

        WaitStrategy strategy() {
            return getWaitStrategy();
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    /** A container whose ports are the broker's, and whose log is what the broker has printed. */
    private record Container(List<String> lines) implements WaitStrategyTarget {
        @Override
        public String getHost() {
            return Target.AMQP_URL.getHost();
        }

        @Override
        public String getContainerId() {
            return "bartleby";
        }

        @Override
        public List<Integer> getExposedPorts() {
            return List.of(AMQP, MANAGEMENT);
        }

        @Override
        public Integer getMappedPort(int port) {
            return switch (port) {
                case AMQP -> Target.AMQP_URL.getPort();
                case MANAGEMENT -> Target.MANAGEMENT_URL.getPort();
                default -> port;
            };
        }

        @Override
        public InspectContainerResponse getContainerInfo() {
            throw new UnsupportedOperationException();
        }

        @Override
        public DockerClient getDockerClient() {
            InvocationHandler docker = (proxy, method, arguments) -> {
                assertEquals("logContainerCmd", method.getName());
                return logs();
            };
            return (DockerClient) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {DockerClient.class}, docker);
        }

        private LogContainerCmd logs() {
            InvocationHandler command = (proxy, method, arguments) -> {
                if (!method.getName().equals("exec")) {
                    return proxy; // an option
                }
                @SuppressWarnings("unchecked")
                ResultCallback<Frame> callback = (ResultCallback<Frame>) arguments[0];
                callback.onStart(() -> { });
                for (String line : lines) {
                    callback.onNext(new Frame(StreamType.STDOUT, (line + "\n").getBytes()));
                }
                return callback; // and the container runs on
            };
            return (LogContainerCmd) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {LogContainerCmd.class}, command);
        }
    }
}
