package bartleby.interop;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** The broker these tests run against, as the environment names it. */
final class Target {
    /** amqp://user:password@host:port/vhost. */
    static final URI AMQP_URL = URI.create(env("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/"));

    /** Where the management API answers, without the path /api. */
    static final URI MANAGEMENT_URL = URI.create(env("MANAGEMENT_URL", "http://127.0.0.1:15672"));

    /** The command that behaves as rabbitmqctl, with leading arguments if it needs some. */
    static final List<String> CTL = List.of(env("CTL", "rabbitmqctl").trim().split(" +"));

    /** True when the broker is Bartleby: its own promises are checked then, in place of RabbitMQ 3.10's omissions. */
    static final boolean BARTLEBY = env("PRODUCT", "rabbitmq").equals("bartleby");

    private Target() {}

    /** Opens a connection, recovering by itself or not, to the broker or to a relay in front of it. */
    static Connection connect(Recovery recovery, int port) throws IOException, TimeoutException {
        return factory(recovery, port).newConnection("interop-java");
    }

    static Connection connect(Recovery recovery) throws IOException, TimeoutException {
        return connect(recovery, AMQP_URL.getPort());
    }

    private static ConnectionFactory factory(Recovery recovery, int port) {
        ConnectionFactory factory = new ConnectionFactory();
        // The client reads a path of "/" as the virtual host with the empty name.
        try {
            factory.setUri(AMQP_URL.toString().replaceFirst("/$", ""));
        } catch (GeneralSecurityException | URISyntaxException e) {
            throw new IllegalArgumentException("AMQP_URL " + AMQP_URL, e);
        }
        factory.setPort(port);
        factory.setAutomaticRecoveryEnabled(recovery == Recovery.AUTOMATIC);
        factory.setTopologyRecoveryEnabled(recovery == Recovery.AUTOMATIC);
        factory.setNetworkRecoveryInterval(200);
        return factory;
    }

    private static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }
}
