package bartleby.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.rabbitmq.client.BuiltinExchangeType;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Dead-letter exchanges by policy, with the commands as the documents print them. */
class PolicyTest {
    static final String LINUX_LINE =
            "rabbitmqctl set_policy DLX \".*\" '{\"dead-letter-exchange\":\"my-dlx\"}' --apply-to queues";
    static final String WINDOWS_LINE =
            "rabbitmqctl set_policy DLX \".*\" \"{\"\"dead-letter-exchange\"\":\"\"my-dlx\"\"}\" --apply-to queues";

    private static final String DEFINITION = "{\"dead-letter-exchange\":\"my-dlx\"}";

    @BeforeEach
    @AfterEach
    void clear() throws Exception {
        if (Ctl.run("-q", "list_policies").succeeded().text().contains("\tDLX\t")) {
            Ctl.run("clear_policy", "DLX").succeeded();
        }
    }

    /** Declares myqueue without arguments, and direct exchanges my-dlx and other-dlx with a queue each on every key. */
    private static Session session(Recovery recovery) throws Exception {
        Session session = Session.open(recovery);
        for (String exchange : new String[] {"my-dlx", "other-dlx"}) {
            session.exchange(exchange, BuiltinExchangeType.DIRECT);
            session.queue("dead." + exchange, null);
            for (String key : new String[] {"myqueue", "policy-key", "argument-key"}) {
                session.channel().queueBind("dead." + exchange, exchange, key);
            }
        }
        session.queue("myqueue", null);
        return session;
    }

    private static void assertDiesTo(Session session, String exchange, String key) throws Exception {
        assertDies(session, session.consume("dead." + exchange), exchange, key);
    }

    private static void assertDies(Session session, Inbox deadLetters, String exchange, String key) throws Exception {
        session.rejectAll("myqueue");
        Published published = session.publish("", "myqueue", "no");
        deadLetters.take().came(exchange, key, "no")
                .diedOnce(published.begun(), Death.expected("rejected", "myqueue", "", "myqueue"));
    }

    private static void assertListed(String definition) throws Exception {
        Ctl list = Ctl.run("list_policies").succeeded();
        assertEquals("Listing policies for vhost \"/\" ...", list.lines().get(0));
        assertEquals("vhost\tname\tpattern\tapply-to\tdefinition\tpriority", list.lines().get(1));
        assertEquals("/\tDLX\t.*\tqueues\t" + definition + "\t0", list.lines().get(2));
        assertEquals(3, list.lines().size());
    }

    /** Broken if the line for Linux, typed as printed, did not give every queue the exchange my-dlx. */
    @ParameterizedTest
    @EnumSource
    void linuxLineAsPrinted(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            Ctl set = Ctl.shell(LINUX_LINE).succeeded();
            assertEquals("Setting policy \"DLX\" for pattern \".*\" to \"" + DEFINITION
                    + "\" with priority \"0\" for vhost \"/\" ...", set.lines().get(0));
            assertListed(DEFINITION);
            assertDiesTo(session, "my-dlx", "myqueue");
        }
    }

    /** Broken if the line for Windows, as a Windows program receives it, did not do the same. */
    @ParameterizedTest
    @EnumSource
    void windowsLineAsPrinted(Recovery recovery) throws Exception {
        try (Session session = session(recovery)) {
            Ctl.windows(WINDOWS_LINE).succeeded();
            assertListed(DEFINITION);
            assertDiesTo(session, "my-dlx", "myqueue");
        }
    }

    /** Broken if the policy could not name the routing key as well. */
    @Test
    void policyNamesRoutingKey() throws Exception {
        try (Session session = session(Recovery.NONE)) {
            Ctl.shell("rabbitmqctl set_policy DLX '.*' --apply-to queues "
                    + "'{\"dead-letter-exchange\":\"my-dlx\",\"dead-letter-routing-key\":\"policy-key\"}'").succeeded();
            assertDiesTo(session, "my-dlx", "policy-key");
        }
    }

    /** Broken if a policy that is set, changed or cleared did not hold for messages that were there before. */
    @Test
    void policyHoldsForMessagesAlreadyThere() throws Exception {
        try (Session session = session(Recovery.NONE)) {
            for (String body : new String[] {"one", "two", "three"}) {
                session.publish("", "myqueue", body);
            }
            Inbox held = session.hold("myqueue");
            Inbox mine = session.consume("dead.my-dlx");
            Inbox others = session.consume("dead.other-dlx");

            Ctl.shell(LINUX_LINE).succeeded();
            session.channel().basicReject(held.take().deliveryTag(), false);
            assertEquals("one", mine.take().body());

            Ctl.shell(LINUX_LINE.replace("my-dlx", "other-dlx")).succeeded();
            session.channel().basicReject(held.take().deliveryTag(), false);
            assertEquals("two", others.take().body());

            Ctl.run("clear_policy", "DLX").succeeded();
            session.channel().basicReject(held.take().deliveryTag(), false);
            // The third went nowhere: a fourth, rejected after it under the policy, arrives first.
            Ctl.shell(LINUX_LINE).succeeded();
            session.publish("", "myqueue", "four");
            session.channel().basicReject(held.take().deliveryTag(), false);
            assertEquals("four", mine.take().body());
            mine.isEmpty();
            others.isEmpty();
        }
    }

    /** Broken if a policy overrode the argument of a queue, or one key's argument hid the policy's other key. */
    @Test
    void argumentsWinKeyByKey() throws Exception {
        try (Session session = session(Recovery.NONE)) {
            Ctl.shell("rabbitmqctl set_policy DLX '.*' --apply-to queues "
                    + "'{\"dead-letter-exchange\":\"my-dlx\",\"dead-letter-routing-key\":\"policy-key\"}'").succeeded();
            Inbox deadLetters = session.consume("dead.other-dlx");
            session.queue("myqueue", Map.of("x-dead-letter-exchange", "other-dlx"));
            assertDies(session, deadLetters, "other-dlx", "policy-key");
            session.queue("myqueue", Map.of("x-dead-letter-exchange", "other-dlx",
                    "x-dead-letter-routing-key", "argument-key"));
            assertDies(session, deadLetters, "other-dlx", "argument-key");
        }
    }

    /** Broken if a policy made through the management API were another than one made by the command. */
    @Test
    void managementSetsTheSamePolicy() throws Exception {
        try (Session session = session(Recovery.NONE)) {
            Management.put("/policies/%2F/DLX", "{\"pattern\":\".*\",\"apply-to\":\"queues\",\"priority\":0,"
                    + "\"definition\":" + DEFINITION + "}");
            assertListed(DEFINITION);
            JsonNode policy = Management.get("/policies/%2F/DLX");
            assertEquals("my-dlx", policy.at("/definition/dead-letter-exchange").asText());
            assertDiesTo(session, "my-dlx", "myqueue");
            Management.delete("/policies/%2F/DLX");
            assertEquals(0, Management.get("/policies").size());
        }
    }

    /** Broken if the administrator could not see which dead-letter settings a queue runs with. */
    @Test
    void deadLetterSettingsAreShown() throws Exception {
        try (Session session = session(Recovery.NONE)) {
            session.queue("myqueue", Map.of("x-dead-letter-exchange", "other-dlx",
                    "x-dead-letter-routing-key", "argument-key", "x-message-ttl", 60000));
            Ctl.shell(LINUX_LINE).succeeded();

            JsonNode queue = Management.get("/queues/%2F/myqueue");
            assertEquals("other-dlx", queue.at("/arguments/x-dead-letter-exchange").asText());
            assertEquals("argument-key", queue.at("/arguments/x-dead-letter-routing-key").asText());
            assertEquals(60000, queue.at("/arguments/x-message-ttl").asInt());
            assertTrue(queue.at("/arguments/x-message-ttl").isInt());

            Ctl list = Ctl.run("-q", "list_queues", "name", "policy", "messages").succeeded();
            assertTrue(list.lines().contains("myqueue\tDLX\t0"), list.text());
        }
    }

    /** Broken if a line that lost a blank or its quotes on the way did something instead of complaining. */
    @Test
    void damagedLinesAreRefused() throws Exception {
        Ctl.shell(LINUX_LINE.replace("\".*\" '", "\".*\"'")).failed(64, "not enough arguments");
        Ctl.shell(WINDOWS_LINE).failed(69, Target.BARTLEBY ? "Could not parse JSON document" : "JSON");
        Ctl.shell(LINUX_LINE.replace("dead-letter-exchange", "dead-letter-echange")).failed(69, "Validation failed");
        Ctl.shell(LINUX_LINE.replace("queues", "nonsense")).failed(69, "apply-to 'nonsense' unrecognised");
        Ctl.shell(LINUX_LINE + " too many").failed(64, "too many arguments");
        assertFalse(Ctl.run("-q", "list_policies").succeeded().text().contains("DLX"));
    }

    /** Broken if clearing what is not there went unnoticed. */
    @Test
    void clearingTheUnknownIsRefused() throws Exception {
        Ctl.run("clear_policy", "nope").failed(69, "does not exist");
    }
}
