// Package deadline keeps what must happen at an instant: an ordered set of (instant, owner, item), made for
// millions of members. One Set serves every clock of a vhost: message TTL, queue expiry, delays, retry backoff,
// held dead letters and consumer timeouts.
//
// It promises:
//   - Order: members come out by (At, Owner, Item), whatever the order they went in. Equal histories give equal
//     structures; no clock is read, no random number drawn.
//   - Cost: Add and Remove are amortised O(log n). Adding in rising order, in one stream or in several at once
//     (queues with different TTLs), and popping the minimum move almost no memory.
//   - Memory: 24 bytes an entry plus the slack of its leaf; about 24.1 bytes when filled in rising order, about 29
//     at random. Leaves hold no pointers, so the garbage collector never looks inside them, and emptied leaves are
//     given back.
//
// ByOwner is the same in another order: what is next of one owner.
//
// It leaves to its owner what an entry means, when to look (Min), and how much due work one tick may do (PopDue
// returns one entry at a time). A Set belongs to one goroutine at a time.
//
// # Structure
//
// Three fixed floors, a B+ tree that never needs a fourth:
//
//	root      one separator and one pointer per branch, unbounded (100 million entries: some 1,000 branches)
//	branch    up to branchMax leaves, a separator for each
//	leaf      up to leafMax entries, sorted, 8 KiB
//
// Invariants, checked by the tests after every step:
//   - A leaf is never empty, nor is a branch; size is the sum over the leaves.
//   - Separator i, for i > 0, is at most the first entry below child i and above the last entry below child i-1.
//     Separator 0 is not used: what is smaller than everything belongs to child 0.
package deadline
