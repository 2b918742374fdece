package api

// RabbitMQVersion is the release whose behaviour is offered, as tools that compare versions want to see it.
const RabbitMQVersion = "4.2.0"

// Plugins names what RabbitMQ has as plugins and a broker of ours always does. The slice is the caller's.
func Plugins() []string {
	return []string{
		"rabbitmq_consistent_hash_exchange", "rabbitmq_delayed_message_exchange",
		"rabbitmq_management", "rabbitmq_management_agent", "rabbitmq_prometheus",
		"rabbitmq_random_exchange", "rabbitmq_recent_history_exchange", "rabbitmq_web_dispatch",
	}
}
