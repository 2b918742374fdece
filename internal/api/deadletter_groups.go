package api

// Groups of GET /api/x/letters/{vhost}/groups?by=reason|source|queue|exchange|key|cause|exception|header:NAME&filter=.
type Groups struct {
	By     string      `json:"by"`
	Groups List[Group] `json:"groups"` // the largest first
	Total  int64       `json:"total"`  // messages in all groups, shown or not
	Others int64       `json:"others"` // groups that are not shown
	// messages that pass the filter and have no such value; scheduled ones only if they might
	Without int64       `json:"without"`
	None    string      `json:"without_filter,omitempty"` // that finds these
	Scanned int         `json:"scanned"`
	Partial bool        `json:"partial"`
	Index   *IndexState `json:"index"`
}

// A Group is messages that have something in common.
type Group struct {
	Value  string         `json:"value"`
	Filter string         `json:"filter"` // that finds these messages
	Count  int64          `json:"count"`
	Lost   int64          `json:"lost"`  // of them, those that are lost letters
	First  string         `json:"first"` // RFC 3339: the oldest's death
	Last   string         `json:"last"`
	Spark  List[int64]    `json:"spark"` // 24 equal stretches from First to Last
	Sample *StoredMessage `json:"sample"`
	Note   string         `json:"note"` // what operators wrote about the group
}

// A Note is what operators wrote about a group of messages. GET /api/x/notes/{vhost} lists them, GET and PUT
// (with a PutNote) /api/x/notes/{vhost}/{by}/{value} are about one.
type Note struct {
	VHost string `json:"vhost"`
	By    string `json:"by"`    // as groups are asked for
	Value string `json:"value"` // of the group
	Text  string `json:"text"`
	User  string `json:"user"` // who wrote it
	At    string `json:"at"`   // RFC 3339
}

// PutNote is the body of PUT; without a text the note is taken away.
type PutNote struct {
	Text string `json:"text"`
}
