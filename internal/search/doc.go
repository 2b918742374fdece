// Package search finds messages: dead letters in queues, held ones among them, and lost letters, of a whole
// virtual host, by a filter of package filter, and counts them in groups.
//
// It owns an index of them, in a directory of its own, and the crawler that fills it. The index is never the source of
// truth: what it finds is looked at in the machine before it is shown, and it may be deleted at any time. Without it
// the same questions are answered by a scan with a budget.
//
// The crawler stays off the way of messages. It looks at places in portions of a few milliseconds, copies what is new,
// and cuts it into words outside the machine; while there is traffic it rests much longer than it works.
//
//	machine ──Browse, portions──▶ crawler ──▶ tail (memory) ──sealed──▶ segments (SQLite)
//	   ▲                                         │                          │
//	   └────────Find, Match: verified ◀──── candidates, newest first ◀──────┘
//
// A segment is some thousand messages: columns of what is asked often, and the words in their properties and
// bodies with the messages that have them. It is written once; what is gone of it is a bitmap. A segment of
// which little is left is read anew and forgotten.
//
// Invariants:
//   - what is sealed and how far each place was read is stored in one step, so that a crash leads to reading
//     again, never to a gap;
//   - a condition that the index answers yields every message that passes it, and perhaps others, unless it
//     is called exact;
//   - memory is bounded: the tails and the cache of SQLite (limits.go), and some bytes for each message that
//     is known.
//
// An Index starts one goroutine; its methods may be called by any. Begin reading at Index.Search, then plan.go,
// segment.go and crawl.go.
package search
