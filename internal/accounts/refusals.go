package accounts

import "github.com/bartleby-mq/bartleby/internal/amqp"

// The refusals that follow from a View's answers, in the words that clients know. Source: RabbitMQ access-control.

// RefuseQueue is the answer to an operation on a queue that is not Allowed; it closes the channel.
func RefuseQueue(op Operation, queue, vhost, user string) *amqp.Error {
	missing := amqp.Missing{What: "queue", Right: op.String(), Name: queue}
	return lacking(missing, "%s access to queue '%s' in vhost '%s' refused for user '%s'", op, queue, vhost, user)
}

// RefuseExchange is the answer to an operation on an exchange that is not Allowed; it closes the channel.
func RefuseExchange(op Operation, exchange, vhost, user string) *amqp.Error {
	if exchange == "" {
		exchange = DefaultExchange
	}
	missing := amqp.Missing{What: "exchange", Right: op.String(), Name: exchange}
	return lacking(missing, "%s access to exchange '%s' in vhost '%s' refused for user '%s'", op, exchange, vhost, user)
}

// RefuseTopic is the answer to a routing or binding key that is not TopicAllowed; it closes the channel.
func RefuseTopic(op Operation, key, exchange, vhost, user string) *amqp.Error {
	missing := amqp.Missing{What: "topic", Right: op.String(), Name: key, Exchange: exchange}
	return lacking(missing, "%s access to topic '%s' in exchange '%s' in vhost '%s' refused for user '%s'",
		op, key, exchange, vhost, user)
}

// lacking refuses a user who lacks something.
func lacking(missing amqp.Missing, format string, args ...any) *amqp.Error {
	e := amqp.AccessRefused(format, args...)
	e.Missing = &missing
	return e
}

// RefuseVHost is the answer to a user who lacks HasAccess; it closes the connection.
func RefuseVHost(vhost, user string) *amqp.Error {
	return amqp.NotAllowed("access to vhost '%s' refused for user '%s'", vhost, user)
}

// RefuseUnknownVHost is the answer to opening a virtual host that does not exist; it closes the connection.
func RefuseUnknownVHost(vhost string) *amqp.Error {
	return amqp.NotAllowed("vhost %s not found", vhost)
}

// RefuseVHostConnection is the answer to one connection more than the virtual host's LimitConnections.
func RefuseVHostConnection(vhost, user string, limit int64) *amqp.Error {
	return amqp.NotAllowed("access to vhost '%s' refused for user '%s': connection limit (%d) is reached", vhost, user, limit)
}

// RefuseUserConnection is the answer to one connection more than the user's LimitConnections.
func RefuseUserConnection(user string, limit int64) *amqp.Error {
	return amqp.NotAllowed("connection refused for user '%s': user connection limit (%d) is reached", user, limit)
}

// RefuseUserChannel is the answer to one channel more than the user's LimitChannels; it closes the connection.
func RefuseUserChannel(user string, limit int64) *amqp.Error {
	return amqp.NotAllowed("number of channels opened for user '%s' has reached the maximum allowed user limit of (%d)", user, limit)
}

// RefuseNewQueue is the answer to one queue more than the virtual host's LimitQueues; it closes the channel.
func RefuseNewQueue(queue, vhost string, limit int64) *amqp.Error {
	return amqp.PreconditionFailed("cannot declare queue '%s': queue limit in vhost '%s' (%d) is reached", queue, vhost, limit)
}

// RefuseDeletedUser ends the connections of a user that is no more.
func RefuseDeletedUser(user string) *amqp.Error {
	return amqp.ConnectionForced("user '%s' was deleted", user)
}

// RefuseLogin is the answer to credentials that do not Authenticate or do not come from where they may; it closes
// the connection and tells nothing more.
func RefuseLogin(mechanism string) *amqp.Error {
	return amqp.AccessRefused("Login was refused using authentication mechanism %s. For details see the broker logfile.", mechanism)
}

// RefuseUserID is the answer to a message whose user-id names another user, unless the publisher is tagged
// TagImpersonator; it closes the channel.
func RefuseUserID(claimed, user string) *amqp.Error {
	return amqp.PreconditionFailed("user_id property set to '%s' but authenticated user was '%s'", claimed, user)
}
