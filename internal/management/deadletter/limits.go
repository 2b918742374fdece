package deadletter

import "time"

const (
	// listDefault and listMax are the messages of a page, by default and at most.
	listDefault, listMax = 100, 500
	// walkPortion bounds how many messages one look at a queue walks over, walkSlice for how long, walkMost and
	// walkPatience how far one request walks for a portion.
	walkPortion, walkMost = 4096, 500_000
	walkSlice             = time.Millisecond
	walkPatience          = time.Second
	// samplesShown is the number of groups, the largest ones, of which a message is shown.
	samplesShown = 100
	// noteBytesMax bounds a note on a group.
	noteBytesMax = 4 << 10
	// userNotesMax and notesMax are the notes of one user, and of all: they are among the global parameters, which have
	// a bound.
	userNotesMax, notesMax = 500, 2000
	// dryRunPortion is how many messages one query tries, dryRunMax and dryRunTimeout how many and how long one request
	// does; dryRunFew is how many it tries before it asks the index.
	dryRunPortion, dryRunMax, dryRunFew = 128, 200_000, 2000
	dryRunTimeout                       = 2 * time.Second
	// rateSpan is the time over which the rate of a job is measured, ratesMax the number of jobs with a measured rate.
	rateSpan, ratesMax = time.Second, 1000
	// pagePortion is about how many bytes of messages one look copies for a page; so many are counted before, and
	// headsPortion for a page without payloads. historyCost is how many times its size a history takes once it is
	// decoded.
	pagePortion, headsPortion = 1 << 20, 256 << 10
	historyCost               = 4
	// exportPortion is about how many bytes of messages are copied before they are sent, carriedBytes what one takes
	// besides its content, and exportSearchMax how many a search returns at once.
	exportPortion, carriedBytes, exportSearchMax = 1 << 20, 512, 200
	// linePiece is how many bytes of a line of an export are sent at once.
	linePiece = 64 << 10
	// markBytes is what a mark takes in a map, as it grows; marksPortion is how many are counted at once.
	markBytes, marksPortion = 40, 4096
	// lineBytesMax bounds a line of an import, and importBytes is about what is published at once.
	lineBytesMax, importBytes = 32 << 20, 4 << 20
)
