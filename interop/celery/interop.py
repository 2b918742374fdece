"""Celery against a running broker: native delayed delivery on quorum queues, late acknowledgement, rejection.

The broker is the one AMQP_URL names; management.py looks at what is declared there. Ends with a line "N passed, N failed"
and a status other than 0 if one failed. The workers' output goes to the file CELERY_LOG names.
"""

import datetime
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from kombu import Connection, Exchange, Queue

import management
import tasks

WAIT_SECONDS = 20
# Generous to a busy machine; never being early is held exactly.
LATE_SECONDS = 1.5
LEVELS = 28


class Worker:
    """A process of its own with four more for the tasks, ready when this returns."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-c", "4", "-l", "INFO"],
            cwd=os.path.dirname(os.path.abspath(__file__)), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = threading.Condition()
        self.output = ""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.wait_for(" ready.\n")

    def _read(self):
        with open(os.environ.get("CELERY_LOG") or os.devnull, "a", encoding="utf-8") as log, self.process.stdout:
            for line in self.process.stdout:
                log.write(line)
                with self.said:
                    self.output += line
                    self.said.notify_all()

    def wait_for(self, text):
        """Waits until the worker has said a text."""
        with self.said:
            found = self.said.wait_for(lambda: text in self.output, WAIT_SECONDS)
        if not found:
            self.kill()
            raise AssertionError(f"the worker did not say {text!r} within {WAIT_SECONDS} s")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(WAIT_SECONDS)
        finally:
            self.kill()

    def kill(self):
        """Ends the process and its children at once."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.reader.join()


def delete_everything():
    """Deletes what Celery declares by its fixed names, and what these tests do."""
    levels = [f"celery_delayed_{n}" for n in range(LEVELS)]
    with Connection(tasks.AMQP_URL) as connection:
        channel = connection.default_channel
        for queue in ["celery", tasks.DYING, "interop.celery.dead", *levels]:
            channel.queue_delete(queue)
        for exchange in ["celery", tasks.DLX, "celery_delayed_delivery", "celery.pidbox", "reply.celery.pidbox",
                         "celeryev", *levels]:
            channel.exchange_delete(exchange)


class Interop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        delete_everything()
        cls.addClassCleanup(delete_everything)
        cls.connection = Connection(tasks.AMQP_URL)
        cls.addClassCleanup(cls.connection.release)
        # A topic exchange, for the messages of delayed tasks carry other keys than those of the others.
        cls.dead = Queue("interop.celery.dead", Exchange(tasks.DLX, type="topic"), routing_key="#")
        cls.dead.bind(cls.connection.default_channel).declare()
        cls.worker = Worker()
        cls.addClassCleanup(lambda: cls.worker.stop())

    def assert_in_time(self, at, begun, ended, seconds):
        self.assertGreaterEqual(at - begun, seconds, "early")
        self.assertLess(at - ended, seconds + LATE_SECONDS, "late")

    def dead_letter(self):
        """Takes the next message from the dead-letter queue."""
        messages = []
        with self.connection.Consumer(self.dead, callbacks=[lambda _, m: messages.append(m)], no_ack=True):
            end = time.monotonic() + WAIT_SECONDS
            while not messages:
                self.connection.drain_events(timeout=max(end - time.monotonic(), 0.001))
        [message] = messages
        return message

    def assert_refused(self, result, message, deaths):
        """Checks a dead letter of a task that was refused, and its deaths: queue, reason, exchange; newest first."""
        self.assertEqual((result.id, "tasks.refuse"), (message.headers["id"], message.headers["task"]))
        self.assertEqual(tasks.DLX, message.delivery_info["exchange"])
        self.assertEqual("dead", message.delivery_info["routing_key"])
        self.assertEqual(deaths, [(d["queue"], d["reason"], d["exchange"]) for d in message.headers["x-death"]])
        self.assertEqual([1] * len(deaths), [d["count"] for d in message.headers["x-death"]])

    def test_tasks_run_at_once(self):
        """Broken if tasks without a delay were lost, doubled or late."""
        begun = time.time()
        results = [tasks.note.delay(n) for n in range(50)]
        for n, result in enumerate(results):
            got = result.get(WAIT_SECONDS)
            self.assertEqual((n, "celery", "celery", False),
                             (got["what"], got["exchange"], got["routing_key"], got["redelivered"]))
            self.assertGreaterEqual(got["at"], begun)

    def test_countdowns(self):
        """Broken if a countdown ended early or late, or was not waited for in the broker; all wait at the same time."""
        sent = {}
        for seconds in (5, 3, 1, 2):
            begun = time.time()
            result = tasks.note.apply_async(args=[seconds], countdown=seconds)
            sent[seconds] = (result, begun, time.time())
        for seconds in sorted(sent):
            result, begun, ended = sent[seconds]
            got = result.get(WAIT_SECONDS)
            self.assertEqual(seconds, got["what"])
            self.assert_in_time(got["at"], begun, ended, seconds)
            # The last level that held it, a 1 among the digits, passed it on to the exchange of the next.
            digits = format(seconds, f"0{LEVELS}b")
            last = (seconds & -seconds).bit_length() - 1
            self.assertEqual(".".join(digits) + ".celery", got["routing_key"])
            self.assertEqual(f"celery_delayed_{last - 1}" if last else "celery_delayed_delivery", got["exchange"])
            self.assertFalse(got["redelivered"])

    def test_eta(self):
        """Broken if a task ran before the time it was set for, or much later."""
        begun = time.time()
        eta = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2.5)
        result = tasks.note.apply_async(args=["eta"], eta=eta)
        got = result.get(WAIT_SECONDS)
        # The broker waits whole seconds, the worker for the rest.
        self.assertEqual("celery_delayed_0", got["exchange"])
        self.assert_in_time(got["at"], begun, begun, 2.5)

    def test_retry(self):
        """Broken if a task that asks to be tried again a second later was not, each time."""
        begun = time.time()
        times = tasks.fail_twice.delay([]).get(WAIT_SECONDS)
        self.assertEqual(3, len(times))
        for n, at in enumerate(times):
            self.assert_in_time(at, times[n - 1] if n else begun, times[n - 1] if n else begun, 1 if n else 0)

    def test_reject(self):
        """Broken if the message of a task that refuses it did not become a dead letter, with a delay before or not."""
        result = tasks.refuse.delay()
        self.assert_refused(result, self.dead_letter(), [(tasks.DYING, "rejected", "celery")])
        begun = time.time()
        result = tasks.refuse.apply_async(countdown=1)
        ended = time.time()
        message = self.dead_letter()
        self.assert_in_time(time.time(), begun, ended, 1)
        self.assert_refused(result, message, [
            (tasks.DYING, "rejected", "celery_delayed_delivery"), ("celery_delayed_0", "expired", "celery_delayed_27")])

    def test_reject_and_requeue(self):
        """Broken if the message of a task that gives it back did not come again, as redelivered."""
        self.assertTrue(tasks.give_back.delay().get(WAIT_SECONDS)["redelivered"])

    def test_process_lost(self):
        """Broken if a task whose process was killed, and which Celery then gives back, did not run again."""
        self.assertTrue(tasks.die_once.delay().get(WAIT_SECONDS)["redelivered"])

    def test_worker_lost(self):
        """Broken if a task whose worker was killed, or one delayed meanwhile, was not run by the next."""
        running = tasks.hang_once.delay()
        self.worker.wait_for("hanging")
        begun = time.time()
        delayed = tasks.note.apply_async(args=["meanwhile"], countdown=2)
        self.worker.kill()
        type(self).worker = Worker()
        self.assertTrue(running.get(WAIT_SECONDS)["redelivered"])
        self.assertGreaterEqual(delayed.get(WAIT_SECONDS)["at"] - begun, 2, "early")

    def test_remote_control(self):
        """Broken if workers could not be spoken to: a fanout exchange, and replies in a queue of the caller's."""
        [answer] = tasks.app.control.broadcast("ping", reply=True, limit=1, timeout=WAIT_SECONDS)
        self.assertEqual([{"ok": "pong"}], list(answer.values()))


if __name__ == "__main__":
    result = unittest.TextTestRunner(descriptions=False, verbosity=2).run(
        unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, [Interop, management.Management])))
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed", flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)
