package web

import "time"

const (
	SmallBytesMax = 1 << 20
	// userMemoryMin is how much memory the requests of one user take at once at the most, unless BodyBytesMax asks for
	// more; those of all users take half as much again. memoryPatience is for how long a request waits for space in
	// that.
	userMemoryMin  = 64 << 20
	memoryPatience = 10 * time.Second
	// LargeAnswer is from how many bytes on an answer is counted there.
	LargeAnswer = 64 << 10
	// StreamPiece is how much of a long list is sent at once, streamBytes about what a list holds that is
	// sent in pieces, and streamGzipBytes what it takes to compress one. listPortion is how many rows are
	// read for it at once, consumersPortion and bindingsPortion of those that are small.
	StreamPiece, StreamBytes, streamGzipBytes = 32 << 10, 256 << 10, 1200 << 10
	// workBytes is how much of a list is made between two looks at the clock: some tens of microseconds.
	workBytes = 2 << 10
	// textPiece is how many bytes of a payload are encoded at once.
	textPiece = 4 << 10
	// GathersMax is how many requests at a time hold a list that is not read in portions: one that is sorted,
	// or cut into pages.
	GathersMax = 2
	// answerShare is the part of the memory watermark that a single answer may take, if that is more than
	// userMemoryMin.
	answerShare = 3
	// itemBytes bounds the space that is made for each item of a list before they are rendered.
	itemBytes = 4 << 10
	// AlarmBodyBytes bounds a body while a memory alarm holds: what is declared with it stays in memory.
	AlarmBodyBytes = 4 << 10
	// ReasonBytesMax bounds the reason of a refusal: it may quote what was sent.
	ReasonBytesMax = 4 << 10
	// BindingBytesMax bounds the body that makes a binding. Source: RabbitMQ management API, bindings.
	BindingBytesMax = 5000
	// pageSizeUsual and pageSizeMax are the items of a page, unasked and at most.
	// Source: RabbitMQ management API, pagination.
	pageSizeUsual, pageSizeMax = 100, 500
	// PatternBytesMax bounds the expression that filters a list by name.
	PatternBytesMax = 1024
	// PatternSizeMax bounds what an expression becomes, see regex.Check: each name is matched with it. PatternPatience
	// is for how long a request matches names.
	PatternSizeMax  = 2000
	PatternPatience = 5 * time.Second
	// ScanMax bounds how many messages one look at a virtual host walks over, and looksMax how often one request
	// looks for a portion.
	ScanMax, LooksMax = 100_000, 20
	// PageBytesMax is about how many bytes of properties and payloads a list of what waits shows.
	PageBytesMax = 8 << 20
	// snapshotPortion is how many queues, exchanges and bindings of a virtual host one look copies: it stands still for
	// about a millisecond.
	snapshotPortion = 2000
	// copiesMax is how many copies of virtual hosts there are at a time: one of ten thousand queues is analyzed in a
	// tenth of a second, and takes 10 MB with what is found out about it.
	copiesMax = 1
	// AlarmCopyMax is how many queues, exchanges and bindings a virtual host may have that is copied during a memory
	// alarm.
	AlarmCopyMax = 10_000
	// OutcomesMax is the number of messages up to which each outcome is listed.
	OutcomesMax = 1000
	// commandPatience is how long a request waits for the virtual host, which holds publishes back while its disk
	// has no space.
	commandPatience = 30 * time.Second
	// LookPatience is how long a request waits to see a virtual host, which answers when what it shows is on the disk.
	LookPatience = 10 * time.Second
	// TakeWithin is how long whoever asked for something large, such as a backup, has to take each piece of it;
	// answerPiece is the size of a piece where the answer is in memory.
	TakeWithin  = time.Minute
	answerPiece = 1 << 20
	// ObjectBytesMax and detailBytesMax bound what a record of the audit log says of the object and of the change.
	ObjectBytesMax, DetailBytesMax = 2 << 10, 4 << 10
	// ImportPortion is how many commands of an import go to a virtual host at once, and problemsMax how many of the
	// mistakes in definitions are told. A dry run, which is for finding them, tells TriedProblemsMax.
	ImportPortion, ProblemsMax, TriedProblemsMax = 1000, 20, 1000
	// gzipBytesMin is the size from which an answer is worth compressing.
	gzipBytesMin = 1 << 10
)
