package conformance

import amqp "github.com/rabbitmq/amqp091-go"

// quorum is the argument of a quorum queue.
var quorum = amqp.Table{"x-queue-type": "quorum"}
