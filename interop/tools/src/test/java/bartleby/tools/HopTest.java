package bartleby.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.http.client.Client;
import com.rabbitmq.http.client.ClientParameters;
import com.rabbitmq.http.client.GetAckMode;
import com.rabbitmq.http.client.GetEncoding;
import com.rabbitmq.http.client.HttpClientException;
import com.rabbitmq.http.client.domain.BindingInfo;
import com.rabbitmq.http.client.domain.ConnectionInfo;
import com.rabbitmq.http.client.domain.ConsumerDetails;
import com.rabbitmq.http.client.domain.Definitions;
import com.rabbitmq.http.client.domain.DeleteQueueParameters;
import com.rabbitmq.http.client.domain.ExchangeInfo;
import com.rabbitmq.http.client.domain.InboundMessage;
import com.rabbitmq.http.client.domain.NodeInfo;
import com.rabbitmq.http.client.domain.OutboundMessage;
import com.rabbitmq.http.client.domain.OverviewResponse;
import com.rabbitmq.http.client.domain.Page;
import com.rabbitmq.http.client.domain.PolicyInfo;
import com.rabbitmq.http.client.domain.QueryParameters;
import com.rabbitmq.http.client.domain.QueueInfo;
import com.rabbitmq.http.client.domain.TopicPermissions;
import com.rabbitmq.http.client.domain.UserInfo;
import com.rabbitmq.http.client.domain.UserPermissions;
import com.rabbitmq.http.client.domain.VhostInfo;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Hop, the Java client of the management API. */
class HopTest {
    private static final String VHOST = "interop/hop %1";
    private static final String USER = "interop-hop";

    private Client client;

    @BeforeEach
    void begin() throws Exception {
        client = client(Target.USER, Target.PASSWORD);
        client.createVhost(VHOST, "where hop is tried", "interop", "hop");
        client.updatePermissions(VHOST, Target.USER, permissions());
    }

    @AfterEach
    void end() {
        client.deleteVhost(VHOST);
    }

    private static Client client(String user, String password) throws Exception {
        return new Client(new ClientParameters()
                .url(Target.MANAGEMENT_URL + "/api/").username(user).password(password));
    }

    private static UserPermissions permissions() {
        UserPermissions all = new UserPermissions();
        all.setConfigure(".*");
        all.setWrite(".*");
        all.setRead(".*");
        return all;
    }

    // Broken if the overview, the nodes or who one is could not be taken apart.
    @Test
    void overview() {
        OverviewResponse overview = client.getOverview();
        assertTrue(overview.getServerVersion().matches("\\d+\\.\\d+.*"), overview.getServerVersion());
        assertTrue(overview.getObjectTotals().getExchanges() >= 14);
        assertEquals(overview.getClusterName(), client.getClusterName().getName());
        assertTrue(overview.getListeners().stream()
                .anyMatch(l -> l.getProtocol().equals("amqp") && l.getPort() == Target.AMQP_URL.getPort()));
        NodeInfo node = client.getNodes().get(0);
        assertEquals(overview.getNode(), node.getName());
        NodeInfo same = client.getNode(node.getName());
        assertTrue(same.isRunning());
        assertTrue(same.getUptime() >= 0 && same.getNumberOfProcessors() >= 1 && same.getMemoryLimit() > 0);
        assertFalse(same.isMemoryAlarmActive());
        assertEquals(Target.USER, client.whoAmI().getName());
        assertTrue(client.alivenessTest(VHOST));
        client.getExtensions();
    }

    // Broken if a virtual host did not keep what was said of it, or its limits.
    @Test
    void virtualHosts() {
        VhostInfo vhost = client.getVhost(VHOST);
        assertEquals("where hop is tried", vhost.getDescription());
        assertEquals(List.of("interop", "hop"), vhost.getTags());
        assertTrue(client.getVhosts().stream().anyMatch(v -> v.getName().equals(VHOST)));
        client.limitMaxNumberOfQueues(VHOST, 1);
        assertEquals(1, client.getVhostLimits(VHOST).getMaxQueues());
        client.declareQueue(VHOST, "only", new QueueInfo(true, false, false));
        assertEquals(400, assertThrows(HttpClientException.class, () -> client.declareQueue(VHOST, "one too many",
                new QueueInfo(true, false, false))).status());
        client.clearMaxQueuesLimit(VHOST);
        client.declareQueue(VHOST, "one too many", new QueueInfo(true, false, false));
        assertNull(client.getVhost("interop/none"));
    }

    // Broken if users were not made, changed and asked for what they may do.
    @Test
    void users() throws Exception {
        client.createUser(USER, "first".toCharArray(), List.of("monitoring", "management"));
        try {
            UserInfo user = client.getUser(USER);
            assertEquals(List.of("monitoring", "management"), user.getTags());
            client.updateUser(USER, "second".toCharArray(), List.of("management"));
            assertEquals(401, assertThrows(HttpClientException.class, () -> client(USER, "first").whoAmI()).status());
            assertEquals(USER, client(USER, "second").whoAmI().getName());
            assertNull(client(USER, "second").getVhost(VHOST));

            client.updatePermissions(VHOST, USER, permissions());
            assertEquals(".*", client.getPermissions(VHOST, USER).getWrite());
            TopicPermissions topics = new TopicPermissions();
            topics.setExchange("amq.topic");
            topics.setRead("^a");
            topics.setWrite("^b");
            client.updateTopicPermissions(VHOST, USER, topics);
            assertEquals("^b", client.getTopicPermissions(VHOST, USER).get(0).getWrite());
            client.clearTopicPermissions(VHOST, USER);
            client.clearPermissions(VHOST, USER);
            assertNull(client.getPermissions(VHOST, USER));
        } finally {
            client.deleteUser(USER);
        }
        assertNull(client.getUser(USER));
    }

    // Broken if a topology that hop declares were another one than it reads.
    @Test
    void topology() {
        client.declareExchange(VHOST, "from", new ExchangeInfo("topic", true, false, false, Map.of("alternate-exchange", "to")));
        client.declareExchange(VHOST, "to", new ExchangeInfo("fanout", true, false));
        client.declareQueue(VHOST, "a/b c", new QueueInfo(true, false, false,
                Map.of("x-dead-letter-exchange", "to", "x-message-ttl", 60_000)));
        client.bindQueue(VHOST, "a/b c", "from", "key.*");
        client.bindExchange(VHOST, "to", "from", "#", Map.of("why", "all"));

        ExchangeInfo from = client.getExchange(VHOST, "from");
        assertEquals("topic", from.getType());
        assertEquals(Map.of("alternate-exchange", "to"), from.getArguments());
        QueueInfo queue = client.getQueue(VHOST, "a/b c");
        assertTrue(queue.isDurable());
        assertEquals("running", queue.getState());
        assertEquals("classic", queue.getType());
        assertEquals(Map.of("x-dead-letter-exchange", "to", "x-message-ttl", 60_000), queue.getArguments());
        List<BindingInfo> between = client.getQueueBindingsBetween(VHOST, "from", "a/b c");
        assertEquals(1, between.size());
        assertEquals("key.*", between.get(0).getRoutingKey());
        assertEquals(2, client.getBindingsBySource(VHOST, "from").size());
        assertEquals(Map.of("why", "all"), client.getExchangeBindingsBetween(VHOST, "from", "to").get(0).getArguments());
        client.unbindQueue(VHOST, "a/b c", "from", "key.*");
        assertEquals(List.of(), client.getQueueBindingsBetween(VHOST, "from", "a/b c"));

        Definitions definitions = client.getDefinitions();
        assertTrue(definitions.getQueues().stream().anyMatch(q -> q.getVhost().equals(VHOST) && q.getName().equals("a/b c")));
        assertEquals(400, assertThrows(HttpClientException.class, () -> client.declareQueue(VHOST, "a/b c",
                new QueueInfo(false, false, false))).status());
        client.deleteExchange(VHOST, "to");
        assertNull(client.getExchange(VHOST, "to"));
    }

    // Broken if a list were not cut into pages, or not searched.
    @Test
    void pages() {
        for (int n = 0; n < 12; n++) {
            client.declareQueue(VHOST, "page." + n, new QueueInfo(false, false, false));
        }
        Page<QueueInfo> page = client.getQueues(VHOST,
                new QueryParameters().name("^page\\.1", true).pagination().pageSize(2).query());
        assertEquals(12, page.getTotalCount());
        assertEquals(3, page.getFilteredCount());
        assertEquals(2, page.getPageCount());
        List<String> names = page.getItemsAsList().stream().map(QueueInfo::getName).toList();
        assertTrue(names.stream().allMatch(n -> n.startsWith("page.1")), names.toString());
    }

    // Broken if a message were not the same when it came back.
    @Test
    void messages() {
        client.declareQueue(VHOST, "dead", new QueueInfo(true, false, false));
        client.declareQueue(VHOST, "work", new QueueInfo(true, false, false,
                Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", "dead")));
        assertTrue(client.publish(VHOST, "amq.default", "work", new OutboundMessage().payload("hello").utf8Encoded()
                .properties(Map.of("delivery_mode", 2, "message_id", "m-1", "headers", Map.of("tenant", "blue")))));
        assertFalse(client.publish(VHOST, "amq.default", "none", new OutboundMessage().payload("lost").utf8Encoded()));
        InboundMessage seen = client.get(VHOST, "work");
        assertEquals("hello", seen.getPayload());
        assertEquals("m-1", seen.getProperties().get("message_id"));
        client.get(VHOST, "work", 1, GetAckMode.REJECT_REQUEUE_FALSE, GetEncoding.AUTO);
        InboundMessage message = client.get(VHOST, "dead", 1, GetAckMode.ACK_REQUEUE_FALSE, GetEncoding.AUTO).get(0);
        Map<?, ?> headers = (Map<?, ?>) message.getProperties().get("headers");
        Map<?, ?> death = (Map<?, ?>) ((List<?>) headers.get("x-death")).get(0);
        assertEquals("rejected", death.get("reason"));
        assertEquals("work", death.get("queue"));
        assertEquals("blue", headers.get("tenant"));
        client.publish(VHOST, "amq.default", "work", new OutboundMessage().payload("AAE=").base64Encoded());
        assertEquals(400, assertThrows(HttpClientException.class,
                () -> client.deleteQueue(VHOST, "work", new DeleteQueueParameters(true, false))).status());
        client.purgeQueue(VHOST, "work");
        client.deleteQueue(VHOST, "work", new DeleteQueueParameters(true, false));
        assertNull(client.getQueue(VHOST, "work"));
    }

    // Broken if a policy were not read as it was written, or not in force when the answer came.
    @Test
    void policies() {
        client.declareQueue(VHOST, "work", new QueueInfo(true, false, false));
        client.declarePolicy(VHOST, "DLX", new PolicyInfo(".*", 3, "queues", Map.of("dead-letter-exchange", "my-dlx")));
        client.declareOperatorPolicy(VHOST, "bound", new PolicyInfo("^work$", 0, "queues", Map.of("max-length", 10)));
        QueueInfo queue = client.getQueue(VHOST, "work");
        assertEquals("DLX", queue.getPolicy());
        assertEquals(Map.of("dead-letter-exchange", "my-dlx", "max-length", 10), queue.getEffectivePolicyDefinition());
        PolicyInfo policy = client.getPolicies(VHOST).get(0);
        assertEquals(3, policy.getPriority());
        assertEquals("queues", policy.getApplyTo());
        assertEquals("^work$", client.getOperatorPolicies(VHOST).get(0).getPattern());
        client.deletePolicy(VHOST, "DLX");
        client.deleteOperatorPolicy(VHOST, "bound");
        assertNull(client.getQueue(VHOST, "work").getPolicy());
        assertEquals(400, assertThrows(HttpClientException.class, () -> client.declarePolicy(VHOST, "bad",
                new PolicyInfo(".*", 0, "queues", Map.of("message-ttl", -1)))).status());
    }

    // Broken if connections, channels and consumers were not seen, or could not be closed.
    @Test
    void connections() throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost(Target.AMQP_URL.getHost());
        factory.setPort(Target.AMQP_URL.getPort());
        factory.setUsername(Target.USER);
        factory.setPassword(Target.PASSWORD);
        factory.setVirtualHost(VHOST);
        factory.setAutomaticRecoveryEnabled(false);
        Connection connection = factory.newConnection("interop-hop");
        try {
            Channel channel = connection.createChannel();
            channel.queueDeclare("work", true, false, false, null);
            channel.basicQos(7);
            String tag = channel.basicConsume("work", false, (t, m) -> { }, t -> { });
            ConnectionInfo seen = client.getConnections().stream()
                    .filter(c -> VHOST.equals(c.getVhost())).findFirst().orElseThrow();
            assertEquals("interop-hop", seen.getClientProperties().getConnectionName());
            assertEquals(Target.USER, seen.getUser());
            assertEquals(seen.getName(), client.getConnection(seen.getName()).getName());
            assertEquals(1, client.getChannels(seen.getName()).size());
            ConsumerDetails consumer = client.getConsumers(VHOST).get(0);
            assertEquals(tag, consumer.getConsumerTag());
            assertEquals("work", consumer.getQueueDetails().getName());

            CountDownLatch closed = new CountDownLatch(1);
            String[] why = new String[1];
            connection.addShutdownListener(e -> {
                why[0] = e.getMessage();
                closed.countDown();
            });
            client.closeConnection(seen.getName(), "by hop");
            assertTrue(closed.await(20, TimeUnit.SECONDS));
            assertTrue(why[0].contains("320") && why[0].contains("by hop"), why[0]);
        } finally {
            connection.abort();
        }
        assertNull(client.getConnection("interop-hop:1 -> none:2"));
    }
}
