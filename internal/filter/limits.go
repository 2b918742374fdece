package filter

const (
	// TextMax is how long a filter may be, in bytes, as it was written and as String writes it.
	TextMax = 4 << 10
	// Of a filter: its terms, and in all of them together the values, those that are looked for in whole texts, the
	// words of these, and the wildcards. What a filter costs for one message is the sum over them: each text that is
	// looked for takes about 1 ms for a body of bodyMax, ten if the body was made to be slow.
	termsMax     = 64
	valuesMax    = 256
	searchesMax  = 32
	wordsMax     = 128
	wildcardsMax = 128
	// bodyMax is how much of a body is looked at, in bytes.
	bodyMax = 1 << 20
	// patternMax is how much of a value a pattern with wildcards looks at, in bytes. A pattern costs at most its own
	// length for each of them.
	patternMax = 16 << 10
	// pathMax is how many steps a path into a body may have, and nestingMax how deep headers are looked into.
	pathMax    = 32
	nestingMax = 16
	// valueMax is how long the value of a group is, in bytes: longer ones that begin alike are one group. Each byte may
	// need four in the text of a filter.
	valueMax = 512
	// amountMax bounds numbers, sizes in bytes and ages in ms, so that no sum of two overflows.
	amountMax = 1 << 61
	// deathsMax is how many entries of an x-death header are read, of the newest deaths, and deathCountMax bounds
	// the count of one, so that no sum of them overflows.
	deathsMax     = 64
	deathCountMax = 1 << 40
)
