package deadletter

// The columns of lists, in their order. Those that a command shows by default, where they are fewer, stand with it.
const (
	dlqColumns     = "name dead_letters messages bytes consumers arrivals oldest_seconds role oldest"
	dlqForPrograms = "name dead_letters messages bytes consumers arrivals oldest_seconds role"
	dlqForPeople   = "name dead_letters messages bytes consumers arrivals oldest role"
	deathColumns   = "queue total rejected expired maxlen delivery_limit republished"
	groupColumns   = "value count first last note lost filter"
	heldColumns    = "id cause reason since took exchange routing_keys size deaths"
	lostColumns    = "id cause at lost_at died_at queue reason target exchange routing_keys size persistent deaths"
	noteColumns    = "by value text user at"
	messageColumns = "id vhost place queue state exchange routing_keys redelivered returns persistent size due " +
		"expires cause target at arrived_at lost_at message_id deaths first_death last_death redrives redrive waiting_id " +
		"properties payload payload_encoding"
	shownColumns = "id state at arrived_at lost_at cause target exchange routing_keys message_id redelivered returns " +
		"persistent size due expires deaths redrives redrive properties payload_encoding"
	redriveColumns = "id user action source ids filter max target options state why begun ended looked matched moved " +
		"refused came_back left total rate eta_ms"
)
