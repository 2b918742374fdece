"""pika against a running broker: dead letters, confirms, returns, prefetch, cancellation, delayed messages.

The broker is the one AMQP_URL names. Ends with a line "N passed, N failed" and a status other than 0 if one failed.
"""

import datetime
import os
import sys
import time
import unittest

import pika
import pika.compat
import pika.exceptions

AMQP_URL = os.environ.get("AMQP_URL") or "amqp://guest:guest@127.0.0.1:5672/"
BARTLEBY = os.environ.get("PRODUCT") == "bartleby"
README = os.path.join(os.path.dirname(__file__), "..", "..", "README.md")
PREFIX = "interop.python."
WAIT_SECONDS = 10
# Generous to a busy machine; never being early is held exactly.
LATE_SECONDS = 1.5


class Inbox:
    """What a consumer received and the test has not looked at yet, with the moment of each arrival."""

    def __init__(self, channel, queue, auto_ack=True):
        self.connection = channel.connection
        self.messages = []
        self.cancelled = []
        channel.add_on_cancel_callback(lambda frame: self.cancelled.append(frame.method.consumer_tag))
        self.consumer_tag = channel.basic_consume(queue, self._receive, auto_ack=auto_ack)

    def _receive(self, _channel, method, properties, body):
        self.messages.append((method, properties, body, time.monotonic()))

    def _wait(self, for_what, condition):
        end = time.monotonic() + WAIT_SECONDS
        while not condition():
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"no {for_what} within {WAIT_SECONDS} s")
            self.connection.process_data_events(time_limit=left)

    def take(self):
        self._wait("message", lambda: self.messages)
        return self.messages.pop(0)

    def wait_cancelled(self):
        self._wait("cancellation", lambda: self.cancelled)
        return self.cancelled.pop(0)


class Interop(unittest.TestCase):
    def setUp(self):
        self.connection = pika.BlockingConnection(pika.URLParameters(AMQP_URL))
        self.addCleanup(self._close)
        self.queues = []
        self.exchanges = []
        self.channel = self.connection.channel()

    def _close(self):
        if self.connection.is_open:
            cleaning = self.connection.channel()
            for queue in self.queues:
                cleaning.queue_delete(queue)
            for exchange in self.exchanges:
                cleaning.exchange_delete(exchange)
            self.connection.close()

    def queue(self, name, **arguments):
        """Declares a queue that is not durable; x_max_length in a keyword is the argument x-max-length."""
        name = PREFIX + name
        self.channel.queue_delete(name)
        self.queues.append(name)
        self.channel.queue_declare(name, arguments={k.replace("_", "-"): v for k, v in arguments.items()})
        return name

    def exchange(self, name, kind, **arguments):
        """Declares an exchange that is not durable, with arguments as in queue."""
        name = PREFIX + name
        self.channel.exchange_delete(name)
        self.exchanges.append(name)
        self.channel.exchange_declare(name, kind, arguments={k.replace("_", "-"): v for k, v in arguments.items()})
        return name

    def ready(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.message_count

    def dead_letter_queue(self):
        """A topic exchange with a queue behind it that takes every key."""
        dlx = self.exchange("dlx", "topic")
        dead = self.queue("dead")
        self.channel.queue_bind(dead, dlx, "#")
        return dlx, dead

    def assert_died(self, message, since, reason, queue, exchange, keys, original_expiration=None):
        """Checks all that the broker wrote into a message that died once; pika keeps the wire types apart."""
        properties = message[1]
        death = dict(properties.headers["x-death"][0])
        self.assertEqual(1, len(properties.headers["x-death"]))
        self.assertIsInstance(death["count"], pika.compat.long, "count is a signed 64-bit number")
        died = death.pop("time")
        self.assertIsInstance(died, datetime.datetime, "time is a timestamp")
        died = died.replace(tzinfo=datetime.timezone.utc).timestamp()
        self.assertTrue(int(since) <= died <= time.time(), f"died at {died}, published at {since}")
        expected = {"count": 1, "reason": reason, "queue": queue, "exchange": exchange, "routing-keys": keys}
        if original_expiration is not None:
            expected["original-expiration"] = original_expiration
        self.assertEqual(expected, death)
        for which in ("first", "last") if BARTLEBY else ("first",):
            for field in ("reason", "queue", "exchange"):
                self.assertEqual(expected[field], properties.headers[f"x-{which}-death-{field}"])
        self.assertIsNone(properties.expiration)

    def assert_came(self, message, exchange, routing_key, body):
        method, _, got, _ = message
        self.assertEqual((exchange, routing_key, body, False),
                         (method.exchange, method.routing_key, got, method.redelivered))

    def test_reject_reaches_dead_letter_queue(self):
        """Broken if a rejected message did not arrive in the dead-letter queue with its history."""
        dlx, dead = self.dead_letter_queue()
        normal = self.exchange("exchange", "topic")
        work = self.queue("work", x_dead_letter_exchange=dlx, x_dead_letter_routing_key="dl.key")
        self.channel.queue_bind(work, normal, "*.normal.key")
        rejecting = Inbox(self.channel, work, auto_ack=False)
        dead_letters = Inbox(self.channel, dead)

        since = time.time()
        self.channel.basic_publish(normal, "a.normal.key", b"unwanted", pika.BasicProperties(
            content_type="text/plain", delivery_mode=2, message_id="m-1", headers={"tenant": "blue"}))
        self.channel.basic_reject(rejecting.take()[0].delivery_tag, requeue=False)

        message = dead_letters.take()
        self.assert_came(message, dlx, "dl.key", b"unwanted")
        self.assert_died(message, since, "rejected", work, normal, ["a.normal.key"])
        properties = message[1]
        self.assertEqual(("text/plain", 2, "m-1", "blue"),
                         (properties.content_type, properties.delivery_mode, properties.message_id,
                          properties.headers["tenant"]))
        self.assertEqual(0, self.ready(work))

    def test_requeue_is_no_death(self):
        """Broken if a message that is requeued died, or came back without the redelivered flag."""
        dlx, dead = self.dead_letter_queue()
        work = self.queue("work", x_dead_letter_exchange=dlx)
        inbox = Inbox(self.channel, work, auto_ack=False)
        self.channel.basic_publish("", work, b"again")
        self.channel.basic_nack(inbox.take()[0].delivery_tag, requeue=True)
        method, properties, body, _ = inbox.take()
        self.assertEqual((True, None, b"again"), (method.redelivered, properties.headers, body))
        self.channel.basic_ack(method.delivery_tag)
        self.assertEqual((0, 0), (self.ready(work), self.ready(dead)))

    def assert_expires(self, work, dead_letters, properties, seconds, original_expiration):
        since, begun = time.time(), time.monotonic()
        self.channel.basic_publish("", work, b"too late", properties)
        ended = time.monotonic()
        message = dead_letters.take()
        self.assert_came(message, PREFIX + "dlx", work, b"too late")
        self.assert_died(message, since, "expired", work, "", [work], original_expiration)
        self.assertGreaterEqual(message[3] - begun, seconds, "early")
        self.assertLess(message[3] - ended, seconds + LATE_SECONDS, "late")

    def test_expiry(self):
        """Broken if a message expired early or late, by its own expiration or its queue's TTL."""
        dlx, dead = self.dead_letter_queue()
        dead_letters = Inbox(self.channel, dead)
        self.channel.confirm_delivery()
        own = self.queue("own", x_dead_letter_exchange=dlx)
        self.assert_expires(own, dead_letters, pika.BasicProperties(expiration="500"), 0.5, "500")
        ttl = self.queue("ttl", x_dead_letter_exchange=dlx, x_message_ttl=500)
        self.assert_expires(ttl, dead_letters, None, 0.5, None)

    def test_maxlen_drops_the_oldest(self):
        """Broken if a full queue let another message die than its oldest."""
        dlx, dead = self.dead_letter_queue()
        dead_letters = Inbox(self.channel, dead)
        work = self.queue("work", x_dead_letter_exchange=dlx, x_max_length=2)
        since = time.time()
        for body in (b"1", b"2", b"3"):
            self.channel.basic_publish("", work, body)
        message = dead_letters.take()
        self.assert_came(message, dlx, work, b"1")
        self.assert_died(message, since, "maxlen", work, "", [work])
        self.assertEqual(2, self.ready(work))

    def test_confirms(self):
        """Broken if a message that is stored were not confirmed, or one that is refused were."""
        work = self.queue("work", x_max_length=1, x_overflow="reject-publish")
        self.channel.confirm_delivery()
        self.channel.basic_publish("", work, b"stored")
        with self.assertRaises(pika.exceptions.NackError):
            self.channel.basic_publish("", work, b"refused")
        self.assertEqual(1, self.ready(work))

    def test_mandatory_returns(self):
        """Broken if a message without a queue did not come back to a publisher who asked for it."""
        exchange = self.exchange("exchange", "direct")
        self.channel.confirm_delivery()
        with self.assertRaises(pika.exceptions.UnroutableError) as caught:
            self.channel.basic_publish(exchange, "nowhere", b"back", mandatory=True)
        [returned] = caught.exception.messages
        self.assertEqual((312, "NO_ROUTE", exchange, "nowhere", b"back"),
                         (returned.method.reply_code, returned.method.reply_text, returned.method.exchange,
                          returned.method.routing_key, returned.body))

    def test_prefetch(self):
        """Broken if a consumer held more messages than its prefetch, or got none after it settled one."""
        work = self.queue("work")
        for n in range(5):
            self.channel.basic_publish("", work, b"%d" % n)
        self.channel.basic_qos(prefetch_count=3)
        inbox = Inbox(self.channel, work, auto_ack=False)
        tags = [inbox.take()[0].delivery_tag for _ in range(3)]
        self.assertEqual(2, self.ready(work))
        self.assertEqual([], inbox.messages)
        self.channel.basic_ack(tags[0])
        self.assertEqual(b"3", inbox.take()[2])
        self.assertEqual(1, self.ready(work))

    def delayed_exchange(self):
        """A delayed exchange that routes as a direct one does, and what came through it with the key "task"."""
        exchange = self.exchange("delayed", "x-delayed-message", x_delayed_type="direct")
        work = self.queue("work")
        self.channel.queue_bind(work, exchange, "task")
        return exchange, Inbox(self.channel, work)

    def assert_in_time(self, message, seconds, begun, ended):
        self.assertGreaterEqual(message[3] - begun, seconds, "early")
        self.assertLess(message[3] - ended, seconds + LATE_SECONDS, "late")

    @unittest.skipUnless(BARTLEBY, "other brokers need a plugin for x-delayed-message")
    def test_delayed_messages(self):
        """Broken if a message were not kept for its delay, an integer or text, or waited for one with a longer delay."""
        exchange, inbox = self.delayed_exchange()
        self.channel.confirm_delivery()
        sent = {}
        for delay in (1500, 500, "1000"):
            begun = time.monotonic()
            self.channel.basic_publish(exchange, "task", str(delay).encode(), mandatory=True,
                                       properties=pika.BasicProperties(delivery_mode=2, headers={"x-delay": delay}))
            sent[int(delay)] = (begun, time.monotonic())
        for delay in (500, 1000, 1500):
            message = inbox.take()
            self.assert_came(message, exchange, "task", str(delay).encode())
            self.assert_in_time(message, delay / 1000, *sent[delay])
            self.assertEqual({"x-delay": -delay}, message[1].headers)
        self.assertEqual([], inbox.messages)

    @unittest.skipUnless(BARTLEBY, "other brokers need a plugin for x-delayed-message")
    def test_delay_nonsense(self):
        """Broken if a delay that means nothing were taken for no delay."""
        exchange, inbox = self.delayed_exchange()
        other = self.connection.channel()
        other.confirm_delivery()
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
            other.basic_publish(exchange, "task", b"m", pika.BasicProperties(headers={"x-delay": "soon"}))
        self.assertEqual((406, "PRECONDITION_FAILED - invalid x-delay 'soon'"),
                         (caught.exception.reply_code, caught.exception.reply_text))
        self.assertEqual([], inbox.messages)

    @unittest.skipUnless(BARTLEBY, "other brokers do not know x-opt-delivery-time in every queue")
    def test_delivery_time(self):
        """Broken if a message that names the instant of its delivery did not wait in its queue until then."""
        work = self.queue("work")
        inbox = Inbox(self.channel, work)
        due = int((time.time() + 1) * 1000)
        self.channel.confirm_delivery()
        self.channel.basic_publish("", work, b"later", pika.BasicProperties(headers={"x-opt-delivery-time": due}))
        self.channel.basic_publish("", work, b"now")
        self.assert_came(inbox.take(), "", work, b"now")
        self.assert_came(inbox.take(), "", work, b"later")
        self.assertTrue(0 <= time.time() - due / 1000 < LATE_SECONDS, "at its instant")

    def test_queue_delete_cancels_consumer(self):
        """Broken if a consumer were not told that its queue has gone."""
        work = self.queue("work")
        inbox = Inbox(self.channel, work)
        other = self.connection.channel()
        other.queue_delete(work)
        self.assertEqual(inbox.consumer_tag, inbox.wait_cancelled())
        self.assertTrue(self.channel.is_open)

    @unittest.skipUnless(BARTLEBY, "delayed retries in a classic queue are Bartleby's")
    def test_readme_example(self):
        """Broken if the README's Python program did not leave its message, with its history, in work.dead."""
        with open(README, encoding="utf-8") as file:
            program = file.read().split("```python\n")[1].split("```\n")[0]
        address = "amqp://guest:guest@localhost:5672/"
        self.assertEqual(1, program.count(address))
        self.queues += ["work", "work.dead"]
        for queue in self.queues:
            self.channel.queue_delete(queue)
        since = time.time()
        exec(program.replace(address, AMQP_URL), {})
        self.assertGreaterEqual(time.time(), since + 6, "a wait of two seconds, and one of four")
        message = Inbox(self.channel, "work.dead").take()
        self.assert_died(message, since, "delivery_limit", "work", "", ["work"])
        self.assertEqual(b"copy this", message[2])


if __name__ == "__main__":
    result = unittest.TextTestRunner(descriptions=False, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Interop))
    for test, reason in result.skipped:
        print(f"left out: {test.id().rpartition('.')[2]}, {reason}")
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed", flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)
