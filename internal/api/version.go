package api

// RabbitMQVersion is the release whose behaviour is offered, as tools that compare versions want to see it.
const RabbitMQVersion = "4.2.0"
