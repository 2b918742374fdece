"""The classic rabbitmqadmin, as Debian ships it with its rabbitmq-server, against a running broker's management API.

MANAGEMENT_URL names the broker, RABBITMQADMIN the script, or what has its name. Each test calls it as a shell would, and checks
what it prints and its exit status. Ends with a line "N passed, N failed" and a status other than 0 if one failed.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

URL = urllib.parse.urlparse(os.environ.get("MANAGEMENT_URL") or "http://127.0.0.1:15672")
SCRIPT = os.environ["RABBITMQADMIN"]
VHOST = "interop/rabbitmqadmin"
SECONDS_MAX = 30


def run(*words, vhost=VHOST):
    """Runs the script in a virtual host, "" for none, and returns what became of it."""
    place = ["-V", vhost] if vhost else []
    return subprocess.run(
        [SCRIPT, "-H", URL.hostname, "-P", str(URL.port), *place, *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)


class Interop(unittest.TestCase):
    def said(self, text, *words, **where):
        """The command succeeds and says exactly that."""
        result = run(*words, **where)
        self.assertEqual((0, text), (result.returncode, result.stdout.strip()), result.stderr)

    def refused(self, text, *words, **where):
        """The command fails, and says that much."""
        result = run(*words, **where)
        self.assertEqual(1, result.returncode, result.stdout)
        self.assertIn(text, result.stdout + result.stderr)

    def listed(self, *words, **where):
        """What a command lists, as JSON."""
        result = run("-f", "raw_json", *words, **where)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def setUp(self):
        run("delete", "vhost", f"name={VHOST}", vhost="")
        self.said("vhost declared", "declare", "vhost", f"name={VHOST}", vhost="")
        self.said("permission declared", "declare", "permission", f"vhost={VHOST}", "user=guest",
                  "configure=.*", "write=.*", "read=.*", vhost="")

    def tearDown(self):
        self.said("vhost deleted", "delete", "vhost", f"name={VHOST}", vhost="")

    def test_message(self):
        """Broken if a topology could not be declared, or a message not be published to it and got out of it."""
        self.said("exchange declared", "declare", "exchange", "name=ex", "type=topic")
        self.said("queue declared", "declare", "queue", "name=q 1", "durable=true",
                  'arguments={"x-dead-letter-exchange": "dlx", "x-message-ttl": 60000}')
        self.said("binding declared", "declare", "binding", "source=ex", "destination=q 1", "routing_key=a.*")
        self.said("Message published", "publish", "exchange=ex", "routing_key=a.b", "payload=hello",
                  'properties={"delivery_mode": 2, "headers": {"tenant": "blue"}}')
        self.said("Message published but NOT routed", "publish", "exchange=ex", "routing_key=b", "payload=hello")
        [message] = self.listed("get", "queue=q 1", "ackmode=ack_requeue_true", "count=5")
        self.assertEqual(("hello", "a.b", "ex", False, 0, {"tenant": "blue"}, 2), (
            message["payload"], message["routing_key"], message["exchange"], message["redelivered"],
            message["message_count"], message["properties"]["headers"], message["properties"]["delivery_mode"]))
        [queue] = self.listed("list", "queues", "name", "messages", "durable", "arguments", "state", "policy")
        self.assertEqual({"name": "q 1", "messages": 1, "durable": True, "state": "running", "policy": None,
                          "arguments": {"x-dead-letter-exchange": "dlx", "x-message-ttl": 60000}}, queue)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "payload")
            result = run("get", "queue=q 1", "ackmode=reject_requeue_false", f"payload_file={path}")
            self.assertEqual(0, result.returncode, result.stderr)
            with open(path, encoding="utf-8") as payload:
                self.assertEqual("hello", payload.read())
        self.assertEqual([], self.listed("get", "queue=q 1", "ackmode=ack_requeue_false"))
        self.said("queue purged", "purge", "queue", "name=q 1")

    def test_bindings(self):
        """Broken if bindings were not listed with the key by which they are deleted."""
        for declared in [("exchange", "name=from", "type=headers"), ("exchange", "name=to", "type=fanout"), ("queue", "name=q")]:
            self.said(f"{declared[0]} declared", "declare", *declared)
        self.said("binding declared", "declare", "binding", "source=from", "destination=q", "destination_type=queue",
                  'arguments={"x-match": "any", "kind": "copy"}')
        self.said("binding declared", "declare", "binding", "source=from", "destination=to", "destination_type=exchange",
                  "routing_key=a/b c")
        bindings = [b for b in self.listed("list", "bindings") if b["source"]]
        self.assertEqual([("to", "exchange", "a/b c", {}), ("q", "queue", "", {"x-match": "any", "kind": "copy"})],
                         [(b["destination"], b["destination_type"], b["routing_key"], b["arguments"])
                          for b in sorted(bindings, key=lambda b: b["destination_type"])])
        for b in bindings:
            self.said("binding deleted", "delete", "binding", f"source={b['source']}", f"destination={b['destination']}",
                      f"destination_type={b['destination_type']}", f"properties_key={b['properties_key']}")
        self.assertEqual([], [b for b in self.listed("list", "bindings") if b["source"]])

    def test_policies(self):
        """Broken if a policy did not reach its queues, or an operator policy did not."""
        self.said("queue declared", "declare", "queue", "name=work")
        self.said("policy declared", "declare", "policy", "name=DLX", "pattern=.*",
                  'definition={"dead-letter-exchange": "my-dlx"}', "apply-to=queues", "priority=5")
        self.said("operator_policy declared", "declare", "operator_policy", "name=bound", "pattern=^work$",
                  'definition={"max-length": 10}', "apply-to=queues")
        [queue] = self.listed("list", "queues", "policy", "operator_policy", "effective_policy_definition")
        self.assertEqual({"policy": "DLX", "operator_policy": "bound", "effective_policy_definition": {
            "dead-letter-exchange": "my-dlx", "max-length": 10}}, queue)
        [policy] = self.listed("list", "policies")
        self.assertEqual({"vhost": VHOST, "name": "DLX", "pattern": ".*", "apply-to": "queues", "priority": 5,
                          "definition": {"dead-letter-exchange": "my-dlx"}}, policy)
        self.refused("Validation failed", "declare", "policy", "name=bad", "pattern=.*", 'definition={"message-ttl": -1}')
        self.said("policy deleted", "delete", "policy", "name=DLX")
        self.said("operator_policy deleted", "delete", "operator_policy", "name=bound")
        [queue] = self.listed("list", "queues", "policy", "operator_policy")
        self.assertEqual({"policy": None, "operator_policy": None}, queue)

    def test_users(self):
        """Broken if users, rights and limits could not be set, or a right was not asked for."""
        self.said("user declared", "declare", "user", "name=interop-u", "password=secret", "tags=management", vhost="")
        self.addCleanup(run, "delete", "user", "name=interop-u", vhost="")
        self.assertIn(("interop-u", ["management"]), [(u["name"], u["tags"]) for u in self.listed("list", "users", vhost="")])
        as_user = ("-u", "interop-u", "-p", "secret")
        self.refused("Not found", *as_user, "list", "queues")
        self.said("permission declared", "declare", "permission", f"vhost={VHOST}", "user=interop-u",
                  "configure=^mine", "write=", "read=.*", vhost="")
        self.said("queue declared", *as_user, "declare", "queue", "name=mine")
        self.refused("Access refused", *as_user, "declare", "queue", "name=yours")
        self.refused("Access refused", *as_user, "list", "users", vhost="")
        self.refused("Access refused", "-u", "interop-u", "-p", "wrong", "list", "queues")
        self.said("permission deleted", "delete", "permission", f"vhost={VHOST}", "user=interop-u", vhost="")
        self.refused("Not found", *as_user, "list", "queues")
        self.said("vhost_limit declared", "declare", "vhost_limit", f"vhost={VHOST}", "name=max-queues", "value=1", vhost="")
        self.refused("queue limit", "declare", "queue", "name=one too many")
        self.said("vhost_limit deleted", "delete", "vhost_limit", f"vhost={VHOST}", "name=max-queues", vhost="")

    def test_definitions(self):
        """Broken if what is exported could not be imported somewhere else."""
        self.said("queue declared", "declare", "queue", "name=kept", 'arguments={"x-max-length": 7}')
        self.said("exchange declared", "declare", "exchange", "name=kept", "type=direct")
        self.said("binding declared", "declare", "binding", "source=kept", "destination=kept", "routing_key=k")
        self.said("policy declared", "declare", "policy", "name=kept", "pattern=^kept$", 'definition={"expires": 3600000}')
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "definitions.json")
            for words in [("export", path), ("delete", "queue", "name=kept"), ("delete", "policy", "name=kept"), ("import", path)]:
                result = run(*words)
                self.assertEqual(0, result.returncode, result.stdout + result.stderr)
            with open(path, "a", encoding="utf-8") as definitions:
                definitions.write("}")
            self.assertEqual(1, run("import", path).returncode)
        [queue] = self.listed("list", "queues", "name", "arguments", "policy")
        self.assertEqual({"name": "kept", "arguments": {"x-max-length": 7}, "policy": "kept"}, queue)
        self.assertIn("k", [b["routing_key"] for b in self.listed("list", "bindings") if b["source"] == "kept"])

    def test_refusals(self):
        """Broken if a refusal did not reach the user in words."""
        self.said("queue declared", "declare", "queue", "name=q", "durable=true")
        self.refused("PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q'", "declare", "queue", "name=q", "durable=false")
        self.refused("Not found", "delete", "queue", "name=none")
        self.refused("Not found", "list", "queues", vhost="interop/none")
        self.refused("Not found", "close", "connection", "name=none", vhost="")
        self.refused("unknown exchange type", "declare", "exchange", "name=e", "type=none")

    def test_everything_is_listed(self):
        """Broken if a list had another form than the script takes apart, or were not sorted as asked."""
        for what in ["connections", "channels", "consumers", "exchanges", "queues", "bindings", "users", "vhosts", "permissions",
                     "nodes", "parameters", "policies", "operator_policies", "vhost_limits"]:
            result = run("list", what, vhost="")
            self.assertEqual(0, result.returncode, f"{what}: {result.stdout}{result.stderr}")
        for form in ["tsv", "long", "kvp", "pretty_json", "bash"]:
            result = run("-f", form, "list", "exchanges", vhost="")
            self.assertEqual(0, result.returncode, f"{form}: {result.stderr}")
            self.assertIn("amq.direct", result.stdout)
        [overview] = self.listed("show", "overview", vhost="")
        self.assertRegex(overview["rabbitmq_version"], r"^\d+\.\d+")
        names = [e["name"] for e in self.listed("-S", "name", "-R", "list", "exchanges", "name")]
        self.assertEqual(sorted(names, reverse=True), names)


if __name__ == "__main__":
    result = unittest.TextTestRunner(descriptions=False, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Interop))
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed", flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)
