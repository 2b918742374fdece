"""What Celery and kombu declare, as the tools around them see it over the management API: kombu's own manager, which is
pyrabbit, and Flower.

MANAGEMENT_URL names the API. The tests are part of interop.py's.
"""

import asyncio
import contextlib
import io
import os
import time
import unittest
import urllib.parse

from flower.utils.broker import Broker
from kombu import Connection, Exchange, Queue
from kombu.transport import native_delayed_delivery
from pyrabbit.http import HTTPError

import tasks

URL = urllib.parse.urlparse(os.environ.get("MANAGEMENT_URL") or "http://127.0.0.1:15672")
LEVELS = 28


class Management(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.connection = Connection(tasks.AMQP_URL, transport_options={
            "manager_hostname": URL.hostname, "manager_port": URL.port})
        cls.addClassCleanup(cls.connection.release)
        cls.manager = cls.connection.manager

    def setUp(self):
        silence = contextlib.redirect_stdout(io.StringIO())  # pyrabbit prints each URL
        silence.__enter__()
        self.addCleanup(silence.__exit__, None, None, None)

    def bindings(self, source, queue):
        return [b for b in self.manager.get_queue_bindings("/", queue) if b["source"] == source]

    def keys(self, source, queue):
        return {b["routing_key"] for b in self.bindings(source, queue)}

    def test_celery(self):
        """Broken if the queues and bindings of a Celery application were other ones over the API than it declared."""
        channel = self.connection.default_channel
        queues = tasks.app.amqp.queues
        for queue in queues.values():
            queue.bind(channel).declare()
        native_delayed_delivery.declare_native_delayed_delivery_exchanges_and_queues(self.connection, "quorum")
        for queue in queues.values():
            native_delayed_delivery.bind_queue_to_native_delayed_delivery_exchange(self.connection, queue)

        seen = {q["name"]: q for q in self.manager.get_queues("/")}
        for name, queue in queues.items():
            self.assertEqual(queue.queue_arguments, seen[name]["arguments"])
            self.assertEqual(("quorum", True), (seen[name]["type"], seen[name]["durable"]))
            # The second key is for what was delayed: it comes with the levels' bits before its own.
            self.assertEqual({queue.routing_key, f"#.{queue.routing_key}"}, self.keys("celery", name))
        bindings = self.manager.get_bindings()
        for n in range(LEVELS):
            level = seen[f"celery_delayed_{n}"]
            following = f"celery_delayed_{n - 1}" if n else "celery_delayed_delivery"
            self.assertEqual((2 ** n * 1000, following, "quorum"), (
                level["arguments"]["x-message-ttl"], level["arguments"]["x-dead-letter-exchange"], level["type"]))
            # One star for each bit above this one, which is set; what has it not set goes on at once.
            stars = "*." * (LEVELS - 1 - n)
            self.assertEqual({f"{stars}1.#"}, self.keys(f"celery_delayed_{n}", f"celery_delayed_{n}"))
            [past] = [b for b in bindings if b["source"] == f"celery_delayed_{n}" and b["destination_type"] == "exchange"]
            self.assertEqual((f"{stars}0.#", following), (past["routing_key"], past["destination"]))
        self.assertEqual("topic", self.manager.get_exchange("/", "celery_delayed_delivery")["type"])

    def test_kombu(self):
        """Broken if a queue of kombu's with every option that it has were another one over the API."""
        exchange = Exchange("interop.kombu", type="headers", durable=True, auto_delete=False, arguments={"alternate-exchange": "amq.fanout"})
        queue = Queue("interop.kombu", exchange, durable=True, expires=3600, message_ttl=1.5, max_length=100, max_length_bytes=4096,
                      max_priority=5, queue_arguments={"x-dead-letter-exchange": ""}, binding_arguments={"x-match": "all", "kind": "copy"})
        channel = self.connection.default_channel
        queue.bind(channel).declare()
        self.addCleanup(channel.exchange_delete, "interop.kombu")
        self.addCleanup(channel.queue_delete, "interop.kombu")
        self.connection.Producer().publish({"n": 1}, exchange=exchange, headers={"kind": "copy"}, priority=3, declare=[queue])

        self.assertEqual({
            "x-expires": 3600000, "x-message-ttl": 1500, "x-max-length": 100, "x-max-length-bytes": 4096, "x-max-priority": 5,
            "x-dead-letter-exchange": ""}, self.manager.get_queue("/", "interop.kombu")["arguments"])
        self.assertEqual({"alternate-exchange": "amq.fanout"}, self.manager.get_exchange("/", "interop.kombu")["arguments"])
        [binding] = self.bindings("interop.kombu", "interop.kombu")
        self.assertEqual({"x-match": "all", "kind": "copy"}, binding["arguments"])
        message = queue.bind(channel).get(no_ack=True)
        self.assertEqual(({"n": 1}, 3, {"kind": "copy"}), (message.payload, message.properties["priority"], message.headers))

    def test_manager(self):
        """Broken if what kombu's manager does beside looking did not work: virtual hosts, rights, queues, connections."""
        vhost = "interop/kombu"
        self.assertEqual("guest", self.manager.get_whoami()["name"])
        self.manager.create_vhost(vhost)
        self.addCleanup(self.manager.delete_vhost, vhost)
        self.manager.set_vhost_permissions(vhost, "guest", ".*", ".*", ".*")
        self.assertEqual(".*", self.manager.get_permission(vhost, "guest")["write"])
        self.assertIn(vhost, self.manager.get_vhost_names())
        self.manager.create_queue(vhost, "q", durable=True, arguments={"x-max-length": 3})
        self.assertEqual(0, self.manager.get_queue_depth(vhost, "q"))
        self.manager.delete_queue(vhost, "q")
        with self.assertRaises(HTTPError) as refused:
            self.manager.get_queue(vhost, "q")
        self.assertEqual(404, refused.exception.status)
        self.connection.ensure_connection()
        [mine, *_] = [c for c in self.manager.get_connections() if c["client_properties"].get("product") == "py-amqp"]
        self.assertEqual(("guest", mine["name"]), (mine["user"], self.manager.get_connection(mine["name"])["name"]))

    def test_flower(self):
        """Broken if Flower's page of the broker were empty."""
        channel = self.connection.default_channel
        channel.queue_declare("interop.flower", durable=True, auto_delete=False)
        self.addCleanup(channel.queue_delete, "interop.flower")
        self.connection.Producer().publish("1", routing_key="interop.flower")
        api = f"{URL.scheme}://guest:guest@{URL.netloc}/api/"
        end = time.monotonic() + 20
        while True:  # figures of lists may be some seconds old
            queues = asyncio.run(Broker(tasks.AMQP_URL.rstrip("/") + "//", http_api=api).queues(["interop.flower"]))
            if queues and queues[0]["messages"] or time.monotonic() > end:
                break
        [queue] = queues
        self.assertEqual((1, 1, 0, 0), (
            queue["messages"], queue["messages_ready"], queue["messages_unacknowledged"], queue["consumers"]))
