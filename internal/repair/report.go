package repair

import "github.com/bartleby-mq/bartleby/internal/vhost"

// State is what can be said of a directory, or of a part of it.
type State string

// The states.
const (
	Sound    State = "sound"
	Damaged  State = "damaged"
	Repaired State = "repaired"
)

// Report tells what is in a data directory, what of it is damaged, and what a repair does about it. Sizes are in bytes.
type Report struct {
	State    State     `json:"state"`
	Starts   bool      `json:"starts"` // a broker would start, perhaps without some virtual hosts
	Journal  Journal   `json:"journal"`
	Segments []Segment `json:"segments"`
	Users    Users     `json:"users"`
	VHosts   []VHost   `json:"vhosts"`
	// Damage is what was found, by file and offset.
	Damage []Damage `json:"damage"`
	// Notes are about what is no damage: an unfinished tail, files that nothing names.
	Notes []string `json:"notes"`
	// Steps are what a repair does, or has done if Aside is set.
	Steps []string `json:"steps"`
	// Aside is where a repair has put the damaged files, below the data directory.
	Aside string `json:"aside,omitempty"`
	// Before is what was found before a repair; the rest is what is there after it.
	Before *Report `json:"before,omitempty"`
}

// Losses counts what of messages and other state is lost, or is in doubt.
func (r *Report) Losses() (n int) {
	n = len(r.Users.Lost)
	for i := range r.VHosts {
		n += len(r.VHosts[i].Lost)
	}
	return n
}

// Journal sums up the files of the log.
type Journal struct {
	Segments        int   `json:"segments"`
	SegmentBytes    int64 `json:"segment_bytes"`
	Rewritten       int   `json:"rewritten"` // of Segments
	LiveBytes       int64 `json:"live_bytes"`
	Spares          int   `json:"spares"`
	SpareBytes      int64 `json:"spare_bytes"`
	CheckpointBytes int64 `json:"checkpoint_bytes"`
	Rebuilt         bool  `json:"rebuilt"` // there is no manifest to be trusted
}

// Segment is one file of the log.
type Segment struct {
	File      string `json:"file"`
	Kind      string `json:"kind"` // written, or rewritten
	Bytes     int64  `json:"bytes"`
	UsedBytes int64  `json:"used_bytes"`
	LiveBytes int64  `json:"live_bytes"` // about
	Batches   uint64 `json:"batches"`
	State     State  `json:"state"`
}

// Damage is bytes that are not what was written.
type Damage struct {
	File    string   `json:"file"` // below the data directory
	Offset  int64    `json:"offset"`
	Bytes   int64    `json:"bytes"`
	What    string   `json:"what"`
	Batches []string `json:"batches,omitempty"` // that it hit, in words
	Meaning []string `json:"meaning"`
}

// Users sums up users, permissions and the list of virtual hosts.
type Users struct {
	State State    `json:"state"`
	Users int      `json:"users"`
	Lost  []string `json:"lost,omitempty"`
}

// VHost is one virtual host.
type VHost struct {
	Name        string `json:"name"`
	Log         uint32 `json:"log"`
	State       State  `json:"state"`
	Starts      bool   `json:"starts"`     // a broker would open it now
	Checkpoint  uint64 `json:"checkpoint"` // batch that it covers, 0: none
	LastBatch   uint64 `json:"last_batch"`
	Exchanges   int    `json:"exchanges"`
	Bindings    int    `json:"bindings"`
	Queues      int    `json:"queues"`
	Messages    int    `json:"messages"` // in queues: ready, waiting for a retry or their time, and held
	Bytes       int64  `json:"bytes"`    // of their bodies
	Held        int    `json:"held"`
	Waiting     int    `json:"waiting"`
	Scheduled   int    `json:"scheduled"` // in delayed exchanges
	LostLetters int    `json:"lost_letters"`
	Lost        []Lost `json:"lost,omitempty"`
}

// Lost is something of a virtual host that is lost, or in doubt.
type Lost struct {
	Kind        vhost.DataLossKind `json:"kind"`
	Batch       uint64             `json:"batch,omitempty"` // of the log; the first, where it is several
	LastBatch   uint64             `json:"last_batch,omitempty"`
	Queue       string             `json:"queue,omitempty"` // or exchange
	LostLetters bool               `json:"shelf,omitempty"` // about the lost letters
	Priority    uint8              `json:"priority,omitempty"`
	Number      uint64             `json:"number"`             // of the first message, in its queue and priority, from 0
	Count       uint64             `json:"count"`              // messages
	Found       uint64             `json:"found,omitempty"`    // that were found again
	Position    uint64             `json:"position,omitempty"` // of a message in its queue, from 1
	BodyBytes   uint32             `json:"body_bytes,omitempty"`
	Exchange    string             `json:"exchange,omitempty"`
	RoutingKey  string             `json:"routing_key,omitempty"`
	DiedIn      string             `json:"died_in,omitempty"`
	Why         string             `json:"why"`
	Text        string             `json:"text"`
}
