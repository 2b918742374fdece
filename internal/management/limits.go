package management

import "time"

const (
	// bodyBytesMax bounds the body of a request that carries definitions or a message, unless another limit was set; smallBytesMax
	// that of any other: it is more than the largest table that AMQP carries takes in JSON.
	// Source: RabbitMQ management.http.max_body_size.
	bodyBytesMax  = 10 << 20
	smallBytesMax = 1 << 20

	// userMemoryMin is how much memory the requests of one user take at once at the most, unless BodyBytesMax asks for more;
	// those of all users take half as much again. memoryPatience is for how long a request waits for room in that.
	userMemoryMin  = 64 << 20
	memoryPatience = 10 * time.Second
	// largeAnswer is from how many bytes on an answer is counted there.
	largeAnswer = 64 << 10
	// streamPiece is how much of a long list is sent at once, streamBytes about what a list holds that is
	// sent in pieces, and streamGzipBytes what it takes to compress one. listPortion is how many rows are
	// read for it at once, consumersPortion and bindingsPortion of those that are small.
	streamPiece, streamBytes, streamGzipBytes      = 32 << 10, 256 << 10, 1200 << 10
	listPortion, consumersPortion, bindingsPortion = 100, 250, 250
	// bindingsLook is how many bindings one look copies to put them in order.
	bindingsLook = 2000
	// gathersMax is how many requests at a time hold a list that is not read in portions: one that is sorted,
	// or cut into pages.
	gathersMax = 2
	// answerShare is the part of the memory watermark that a single answer may take, if that is more than userMemoryMin.
	answerShare = 3
	// itemRoom bounds the room that is made for each item of a list before they are rendered.
	itemRoom = 4 << 10

	// alarmBodyBytes bounds a body while a memory alarm holds: what is declared with it stays in memory.
	alarmBodyBytes = 4 << 10

	// reasonBytesMax bounds the reason of a refusal: it may quote what was sent.
	reasonBytesMax = 4 << 10

	// loginBytesMax bounds the form with name and password.
	loginBytesMax = 4096

	// bindingBytesMax bounds the body that makes a binding. Source: RabbitMQ management API, bindings.
	bindingBytesMax = 5000

	// pageSizeUsual and pageSizeMax are the items of a page, unasked and at most.
	// Source: RabbitMQ management API, pagination.
	pageSizeUsual, pageSizeMax = 100, 500

	// viewsMax bounds how many queues one look at a virtual host reads, which takes it about a millisecond.
	viewsMax = 500

	// rollPortion is how many names of queues one look reads, which takes it less than a millisecond.
	rollPortion = 10_000

	// withinMax bounds the number of days, weeks, months or years until a certificate expires.
	withinMax = 10_000

	// patternBytesMax bounds the expression that filters a list by name.
	patternBytesMax = 1024
	// patternSizeMax bounds what an expression becomes, see regex.Check: each name is matched with it. patternPatience is for how
	// long a request matches names.
	patternSizeMax  = 2000
	patternPatience = 5 * time.Second

	// getMax bounds the messages that one request takes from a queue, all of which are in memory at once.
	getMax = 10_000
	// getBytesMax is about how many bytes of bodies it takes from one queue: as JSON they are up to six times as many.
	getBytesMax = 32 << 20

	// expirationMax is the longest expiration of a message, ms. Source: reference expiry-and-limits 1.
	expirationMax = 315_360_000_000

	// lettersUsual and lettersMax are the letters of a portion, unasked and at most.
	lettersUsual, lettersMax = 100, 500

	// scanMax bounds how many messages one look at a virtual host walks over, and looksMax how often one request
	// looks for a portion.
	scanMax, looksMax = 100_000, 20

	// waitingUsual is how many of the messages that wait are listed unasked; at most it is vhost.SelectionMax.
	waitingUsual = 100
	// readsMax and readBytesMax bound the contents that one look at what waits reads, and readPatience for how long it goes
	// on reading: they may have to come from the disk.
	readsMax, readBytesMax = 256, 4 << 20
	readPatience           = 3 * time.Millisecond
	// chunksMax bounds how many chunks of messages one look reads to find which of those that wait are next.
	chunksMax = 64
	// bucketsMax bounds the buckets of a calendar: as many days as messages may wait. countPortion is how many chunks of messages
	// one look counts, countPatience for how long one request does, and overdueLeast by how much is late what is overdue.
	bucketsMax    = 4000
	countPortion  = 32
	countPatience = 2 * time.Second
	overdueLeast  = time.Second
	// instantMax is the last instant that may be asked for: the end of the year 9999.
	instantMax = 253_402_300_799_999
	// pageBytesMax is about how many bytes of properties and payloads a list of what waits shows.
	pageBytesMax = 8 << 20
	// walkPortion bounds how many messages one look at a queue walks over, walkTurn for how long, walkMost and walkPatience how
	// far one request walks for a portion.
	walkPortion, walkMost = 4096, 500_000
	walkTurn              = time.Millisecond
	walkPatience          = time.Second
	// samplesShown is of how many groups, the largest, a letter is shown.
	samplesShown = 100
	// noteBytesMax bounds a note on a group.
	noteBytesMax = 4 << 10
	// userNotesMax and notesMax are the notes of one user, and of all: they are among the global parameters, which have a bound.
	userNotesMax, notesMax = 500, 2000
	// trialPortion is how many letters one look tries, trialMost and trialPatience how far one request does, trialFew before it asks the
	// index.
	trialPortion, trialMost, trialFew = 128, 200_000, 2000

	trialPatience = 2 * time.Second
	// paceSpan is over how long the pace of a job is measured, and pacesMax of how many jobs that is known.
	paceSpan, pacesMax = time.Second, 1000
	// exportPortion is about how many bytes of letters are taken before they are sent, carriedBytes what one takes besides its
	// content, and exportLetterMax how many a search finds at once.
	exportPortion, carriedBytes, exportLetterMax = 1 << 20, 512, 200
	// lineBytesMax bounds a line of an import, and importBytes is about what is published at once.
	lineBytesMax, importBytes = 32 << 20, 4 << 20
	// criteriaMax bounds the headers that a filter names.
	criteriaMax = 16

	// surveyPortion is how many queues, exchanges and bindings of a virtual host one look copies: it stands still for about a
	// millisecond.
	surveyPortion = 2000
	// surveysMax is how many surveys are looked through at a time: one of ten thousand queues takes a tenth of a second.
	surveysMax = 1
	// nodesUsual and nodesMax are the exchanges and queues of a topology, unasked and at most; depthUsual and depthMax how far
	// from its root they are.
	nodesUsual, nodesMax = 400, 20_000
	depthUsual, depthMax = 2, 64
	// findingsUsual and findingsMax are what a lint lists, unasked and at most.
	findingsUsual, findingsMax = 1000, 100_000

	// outcomesMax is up to how many letters each has its outcome told.
	outcomesMax = 1000

	// advanceMax bounds how far a test clock moves in one request: ten years.
	advanceMax = 10 * 366 * 24 * time.Hour

	// samplePeriod is the time between two readings of the counters, from which rates are computed.
	// Source: RabbitMQ collect_statistics_interval.
	samplePeriod = 5 * time.Second
	// spanSecondsMax bounds how far back samples are asked for, and samplesMax how many.
	spanSecondsMax, samplesMax = 100_000_000, 500

	// commandPatience is how long a request waits for the virtual host, which holds publishes back while its disk
	// has no room.
	commandPatience = 30 * time.Second

	// lookPatience is how long a request waits to see a virtual host, which answers when what it shows is on the disk.
	lookPatience = 10 * time.Second

	// takeWithin is how long whoever asked for something large, such as a backup, has to take each piece of it; answerPiece is the
	// size of a piece where the answer is in memory.
	takeWithin  = time.Minute
	answerPiece = 1 << 20

	// objectBytesMax and detailBytesMax bound what a record of the audit log says of the object and of the change.
	objectBytesMax, detailBytesMax = 2 << 10, 4 << 10

	// importPortion is how many commands of an import go to a virtual host at once, and problemsMax how many of the mistakes
	// in definitions are told.
	importPortion, problemsMax = 1000, 20

	// netTicktime is what tools expect a node to have. Source: RabbitMQ net_ticktime.
	netTicktime = 60

	// gzipBytesMin is the size from which an answer is worth compressing.
	gzipBytesMin = 1 << 10
)

// wholeKept and wireKept are how long readings are kept: of virtual hosts, exchanges, queues and the node, and of connections.
// Source: RabbitMQ sample_retention_policies.
var (
	wholeKept = kept([2]time.Duration{10 * time.Minute, samplePeriod}, [2]time.Duration{time.Hour, time.Minute},
		[2]time.Duration{8 * time.Hour, 10 * time.Minute}, [2]time.Duration{24 * time.Hour, 30 * time.Minute})
	wireKept = kept([2]time.Duration{time.Minute, samplePeriod})
)
