package search

import "time"

const (
	// MaxBytes is how much an index takes on the disk if nobody says.
	MaxBytes = 1 << 30
	// LimitUsual and LimitMax are how many messages a portion has.
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
	// scanBudget is how long a question is answered by looking at messages, scanMost how many of them.
	scanBudget = time.Second
	scanMost   = 200_000

	// tailMessages is how many messages are sealed as one segment; tailWords bounds the words in them,
	// counted for each message, and tailOctets their characters: some 16 MiB of memory for both.
	tailMessages = 8192
	tailWords    = 3 << 20
	tailOctets   = 4 << 20
	// blockBytes is how large a block of words is, about.
	blockBytes = 15 << 10
	// textMax is how much of the properties of a message is cut into words, bodyMax how much of its body, in
	// octets. Of a message that has more the words are not known: it is looked at each time that words are
	// asked for.
	textMax = 96 << 10
	bodyMax = 64 << 10
	// headersKept is of how many headers the values are known in a segment, valueMax how long these may be, in octets.
	headersKept = 64
	valueMax    = 128
)

const (
	// fragmentMin is the length from which on parts of words are looked for: shorter ones are in most
	// messages.
	fragmentMin = 2
	// headerValuesMax is how many values of a header are asked one by one in a segment, before words are.
	headerValuesMax = 1024
)

const (
	// placesMax is how many places of one virtual host are told apart; of others nothing is indexed.
	placesMax = 60_000
	// streamMost is how many messages of one segment are put in order at once, verifySpare how many more than
	// are asked for are looked at together.
	streamMost  = 256
	verifySpare = 16
	// searchBudget is how long a search looks at messages that the index has found, searchMost at how many.
	searchBudget = 700 * time.Millisecond
	searchMost   = 50_000
	// judgeBudget is how long segments are asked for one answer: only parts of words, and ranges, take that long.
	judgeBudget = 2 * time.Second
	// groupsBudget is how long messages are looked at for groups that the index cannot tell, groupsMost how
	// many.
	groupsBudget = 700 * time.Millisecond
	groupsMost   = 50_000
)

const (
	// tailsOctets is how much of words the tails of all virtual hosts have together, in octets, before the largest is
	// sealed.
	tailsOctets = 8 << 20
	// A segment with fewer than smallMessages is read anew if there are more than smallSegments such, or if
	// one message in sparseShare is left of it.
	smallMessages = tailMessages / 4
	smallSegments = 16
	sparseShare   = 4
	// goneEvery is how often it is stored which messages have gone: a start finds it anew.
	goneEvery = 10 * time.Second
)
