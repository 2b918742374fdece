package deadline

const (
	leafMax   = 341              // entries; with its two bounds a leaf is exactly 8 KiB, a size class of the allocator
	branchMax = 512              // leaves; a split moves half of 16 KiB, once in tens of thousands of additions
	shareMax  = leafMax * 9 / 10 // a full leaf gives to a neighbour up to this full; only if both are fuller it splits
	// a merged leaf keeps an eighth free, so that the next addition does not split it again
	mergeMax = leafMax * 7 / 8
	spareMax = 8 // leaves; enough that popping at one end while adding at the other allocates nothing
)
