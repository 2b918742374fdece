package bartleby.examples;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;

/** Where the examples find their broker: AMQP_URL, or guest at localhost:5672. */
final class Broker {
    private Broker() {}

    static Connection connect() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        String url = System.getenv("AMQP_URL");
        if (url != null) {
            // The client reads a path of "/" as the virtual host with the empty name.
            factory.setUri(url.replaceFirst("/$", ""));
        }
        return factory.newConnection();
    }
}
