package search

import "time"

const (
	// MaxBytes is how much an index takes on the disk if nobody says.
	MaxBytes = 1 << 30
	// LimitUsual and LimitMax are how many letters a portion has.
	LimitUsual = 50
	LimitMax   = 1000
	// GroupsUsual and GroupsMax are how many groups are shown.
	GroupsUsual = 100
	GroupsMax   = 1000
	// groupsKnown bounds the groups that are counted for one answer, some 500 bytes each.
	groupsKnown = 20_000

	// portion is how long one look into the machine takes: messages wait meanwhile.
	portion = 3 * time.Millisecond
	// looksOnce is how many messages one look goes through at the most: the clock is read in between.
	looksOnce = 256
	// scanBudget is how long a question is answered by looking at letters, scanMost how many of them.
	scanBudget = time.Second
	scanMost   = 200_000
)
