package schedule

import "time"

const (
	// listDefault is how many of the messages that wait are listed unasked; at most it is vhost.SelectionMax.
	listDefault = 100
	// readsMax and readBytesMax bound the contents that one look at what waits reads, and readPatience for how long it
	// goes on reading: they may have to come from the disk.
	readsMax, readBytesMax = 256, 4 << 20
	readPatience           = 3 * time.Millisecond
	// chunksMax bounds how many chunks of messages one look reads to find which of those that wait are next.
	chunksMax = 64
	// bucketsMax bounds the buckets of a calendar: as many days as messages may wait. countPortion is how many chunks
	// of messages one look counts, countPatience for how long one request does, and overdueLeast by how much is late
	// what is overdue.
	bucketsMax    = 4000
	bucketMax     = 10 * 366 * 24 * 3600 * 1000 // ms: for so long messages may wait
	countPortion  = 32
	countPatience = 2 * time.Second
	overdueLeast  = time.Second
	// instantMax is the last instant that may be asked for: the end of the year 9999.
	instantMax = 253_402_300_799_999
	// criteriaMax bounds the headers that a filter names.
	criteriaMax = 16
)
