package management

import "time"

const (
	// bodyBytesMax bounds the body of a request that carries definitions or a message, unless another limit was set;
	// smallBytesMax that of any other: it is more than the largest table that AMQP carries takes in JSON.
	// Source: RabbitMQ management.http.max_body_size.
	bodyBytesMax = 10 << 20
	// loginBytesMax bounds the form with name and password.
	loginBytesMax = 4096
	// withinMax bounds the number of days, weeks, months or years until a certificate expires.
	withinMax = 10_000
	// nodesUsual and nodesMax are the exchanges and queues of a topology, unasked and at most; depthUsual and depthMax
	// how far from its root they are.
	nodesUsual, nodesMax = 400, 20_000
	depthUsual, depthMax = 2, 64
	// findingsUsual and findingsMax are what a lint lists, unasked and at most.
	findingsUsual, findingsMax = 1000, 100_000
	// advanceMax bounds how far a test clock moves in one request: ten years.
	advanceMax = 10 * 366 * 24 * time.Hour
	// netTicktime is what tools expect a node to have. Source: RabbitMQ net_ticktime.
	netTicktime = 60
)
