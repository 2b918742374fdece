package api

// A Topology answers GET /api/x/topology/{vhost}?root=&depth=&limit=: exchanges, queues and the ways between them. With
// root, the ID or the name of a node, those that are no more than depth ways from it; with format=mermaid or format=dot
// as text.
type Topology struct {
	VHost     string `json:"vhost"`
	Root      string `json:"root,omitempty"`
	Exchanges int    `json:"exchanges"` // that there are, shown or not
	Queues    int    `json:"queues"`
	Bindings  int    `json:"bindings"`
	// there are more nodes or ways than were asked for, or than are shown at once
	Partial  bool               `json:"partial"`
	Nodes    List[TopologyNode] `json:"nodes"` // exchanges first, then queues, each by name
	Edges    List[TopologyEdge] `json:"edges"`
	Findings List[Finding]      `json:"findings"` // about the nodes that are shown
}

// A TopologyNode is an exchange or a queue.
type TopologyNode struct {
	ID         string `json:"id"`      // e:NAME or q:NAME
	Kind       string `json:"kind"`    // exchange, queue
	Name       string `json:"name"`    // of the default exchange ""
	Type       string `json:"type"`    // direct, topic, x-delayed-message, …; classic, quorum; "" if it is missing
	Missing    bool   `json:"missing"` // something names it, and there is none
	Durable    bool   `json:"durable"`
	AutoDelete bool   `json:"auto_delete"`
	Internal   bool   `json:"internal"`
	Exclusive  bool   `json:"exclusive"`
	Hidden     int    `json:"hidden"`   // ways from or to it that are not shown
	Severity   string `json:"severity"` // of the worst finding about it, "" if there is none

	Scheduled int64          `json:"scheduled"`       // messages that wait in a delayed exchange
	Queue     *TopologyQueue `json:"queue,omitempty"` // of a queue
}

// A TopologyQueue is what the topology shows of a queue.
type TopologyQueue struct {
	Ready           int64  `json:"ready"`
	Unacked         int64  `json:"unacked"`
	Waiting         int64  `json:"waiting"`
	Held            int64  `json:"held"`
	Bytes           int64  `json:"bytes"`
	Consumers       int    `json:"consumers"`
	State           string `json:"state"`   // empty, flowing (it has consumers), resting, full
	Role            string `json:"role"`    // dead_letter (a dead-letter queue), retry (dead letters wait in it for a retry), or ""
	DeadLetterQueue bool   `json:"letters"` // it is a dead-letter queue
	Loop            bool   `json:"loop"`    // dead letters may come back here

	DeadLetterExchange   *string `json:"dead_letter_exchange"`
	DeadLetterRoutingKey *string `json:"dead_letter_routing_key"` // null: dead letters keep their own
	Strategy             string  `json:"strategy"`                // at-most-once, at-least-once
	MessageTTL           *int64  `json:"message_ttl"`             // ms
	Expires              *int64  `json:"expires"`                 // ms
	MaxLength            *int64  `json:"max_length"`
	MaxLengthBytes       *int64  `json:"max_length_bytes"`
	Overflow             string  `json:"overflow"`
	DeliveryLimit        *int64  `json:"delivery_limit"`
	Policy               string  `json:"policy"`
	OperatorPolicy       string  `json:"operator_policy"`
}

// A TopologyEdge is a way from one node to another; parallel bindings are one.
type TopologyEdge struct {
	From string `json:"from"` // IDs of nodes
	To   string `json:"to"`
	// binding, dead_letter, alternate, delayed (a binding of a delayed exchange)
	Kind      string       `json:"kind"`
	Keys      List[string] `json:"keys"`      // of bindings, the first ones; the key of dead letters
	OwnKeys   bool         `json:"own_keys"`  // dead letters keep their keys
	Count     int          `json:"count"`     // of parallel bindings
	Arguments Arguments    `json:"arguments"` // of the first binding
	Implicit  bool         `json:"implicit"`  // of the default exchange, by name
	Loop      bool         `json:"loop"`      // it is on a way on which dead letters may come back
}
