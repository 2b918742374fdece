package bartleby.tools;

import java.net.URI;
import java.nio.file.Path;

/** The broker these tests run against, as the environment names it. */
final class Target {
    static final URI AMQP_URL = URI.create(env("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/"));

    /** Without the path /api. */
    static final URI MANAGEMENT_URL = URI.create(env("MANAGEMENT_URL", "http://127.0.0.1:15672"));

    /** What the broker has printed; empty if nobody knows. */
    static final Path LOG = Path.of(env("BROKER_LOG", ""));

    static final String USER = AMQP_URL.getUserInfo().split(":")[0];
    static final String PASSWORD = AMQP_URL.getUserInfo().split(":")[1];

    private Target() {}

    private static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }
}
