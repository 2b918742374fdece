"""A Celery application on quorum queues, as Celery's guide to them sets it up, and its tasks.

Countdowns and ETAs wait in the broker: on quorum queues Celery uses its native delayed delivery, 28 topic exchanges and
quorum queues whose messages expire from one into the next.
"""

import os
import signal
import time

from celery import Celery
from celery.exceptions import Reject
from kombu import Exchange, Queue

AMQP_URL = os.environ.get("AMQP_URL") or "amqp://guest:guest@127.0.0.1:5672/"
DLX = "interop.celery.dlx"
DYING = "interop.celery.dying"

app = Celery("interop", broker=AMQP_URL, backend="rpc://")
exchange = Exchange("celery", type="topic")
app.conf.update(
    broker_transport_options={"confirm_publish": True},
    broker_native_delayed_delivery_queue_type="quorum",
    task_default_queue_type="quorum",
    task_default_exchange_type="topic",
    task_queues=[
        Queue("celery", exchange, routing_key="celery", queue_arguments={"x-queue-type": "quorum"}),
        Queue(DYING, exchange, routing_key=DYING, queue_arguments={
            "x-queue-type": "quorum", "x-dead-letter-exchange": DLX, "x-dead-letter-routing-key": "dead"}),
    ],
    task_routes={"tasks.refuse": {"queue": DYING, "routing_key": DYING}},
    worker_detect_quorum_queues=True,
)


def how(request):
    """What a task can tell of the way it came."""
    return {
        "at": time.time(),
        "exchange": request.delivery_info["exchange"],
        "routing_key": request.delivery_info["routing_key"],
        "redelivered": bool(request.delivery_info["redelivered"]),
    }


@app.task(bind=True)
def note(self, what):
    return {"what": what, **how(self.request)}


@app.task(bind=True, max_retries=2)
def fail_twice(self, times):
    times = [*times, time.time()]
    if len(times) < 3:
        raise self.retry(args=[times], countdown=1)
    return times


@app.task(bind=True, acks_late=True)
def refuse(self):
    raise Reject("unwanted", requeue=False)


@app.task(bind=True, acks_late=True)
def give_back(self):
    if not self.request.delivery_info["redelivered"]:
        raise Reject("later", requeue=True)
    return how(self.request)


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True)
def die_once(self):
    if not self.request.delivery_info["redelivered"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return how(self.request)


@app.task(bind=True, acks_late=True)
def hang_once(self):
    """Says in the worker's output that it has begun, and ends only when it is delivered again."""
    if not self.request.delivery_info["redelivered"]:
        print("hanging")
        signal.pause()
    return how(self.request)
