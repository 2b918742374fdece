package api

// ExportTrailer is the trailer of an export: how many messages it has. Without it the export is not complete.
const ExportTrailer = "X-Letters"

// An Exported is a line of GET /api/x/letters/{vhost}/export?queue=|lost=true&filter=&order=, and of what POST
// /api/x/letters/{vhost}/import?queue=|exchange=[&routing_key=]|origin=true takes. An import needs PropertiesRaw or
// Properties, and Payload.
type Exported struct {
	StoredMessage
	// base64 of them as AMQP writes them, with the types that JSON does not know
	PropertiesRaw string `json:"properties_raw,omitempty"`
}

// Imported answers an import.
type Imported struct {
	Read     int64           `json:"read"`     // lines
	Imported int64           `json:"imported"` // messages that queues took
	Skipped  int64           `json:"skipped"`  // with once=true: the queue has them already
	Unrouted int64           `json:"unrouted"` // led to no queue: they are gone
	Refused  int64           `json:"refused"`  // by a queue that is full
	Failed   int64           `json:"failed"`   // lines that were not taken
	Wrong    List[WrongLine] `json:"wrong"`    // the first of these
}

// A WrongLine is one that was not imported.
type WrongLine struct {
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
}
