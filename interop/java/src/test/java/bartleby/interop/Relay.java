package bartleby.interop;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** Stands between client and broker, passes every byte on, and cuts all connections when told. */
final class Relay implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new ArrayList<>(); // guarded by itself

    Relay() throws IOException {
        start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** Breaks every connection as a network would: both ends see the stream end without a closing handshake. */
    void cut() throws IOException {
        synchronized (sockets) {
            for (Socket socket : sockets) {
                socket.close();
            }
            sockets.clear();
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        cut();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listener.accept();
            Socket broker = new Socket(Target.AMQP_URL.getHost(), Target.AMQP_URL.getPort());
            client.setTcpNoDelay(true);
            broker.setTcpNoDelay(true);
            synchronized (sockets) {
                sockets.add(client);
                sockets.add(broker);
            }
            start(() -> copy(client, broker));
            start(() -> copy(broker, client));
        }
    }

    private static void copy(Socket from, Socket to) throws IOException {
        try (from; to) {
            from.getInputStream().transferTo(to.getOutputStream());
        }
    }

    private static void start(Copying copying) {
        Thread thread = new Thread(() -> {
            try {
                copying.run();
            } catch (IOException e) {
                // A socket was closed, by cut or close or one of the ends: this thread's work is over.
            }
        }, "relay");
        thread.setDaemon(true);
        thread.start();
    }

    private interface Copying {
        void run() throws IOException;
    }
}
