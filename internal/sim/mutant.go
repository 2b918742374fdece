package sim

// Mutant names a fault planted on purpose in the part that the simulation plays itself, the engine's. Each stands at
// exactly one place in the code, marked by its name.
type Mutant string

const (
	// MutantReleaseEarly lets effects wait for nothing.
	MutantReleaseEarly Mutant = "release-early"
	// MutantSpendReserve lets publishers take the reserve of the disk.
	MutantSpendReserve Mutant = "spend-reserve"
	// MutantServeDamaged serves what cannot be read as if it were something.
	MutantServeDamaged Mutant = "serve-damaged"
	// MutantHushCut does not tell what was cut.
	MutantHushCut Mutant = "hush-cut"
	// MutantAdoptEarly lets sparse segments go before what has ended meanwhile is safe.
	MutantAdoptEarly Mutant = "adopt-early"
	// MutantMarkHalf takes a mark for done that is not.
	MutantMarkHalf Mutant = "mark-half"
	// MutantForgetPages gives back pages that are in use.
	MutantForgetPages Mutant = "forget-pages"
	// MutantEarlyRoot stores a checkpoint before the pages that it names are safe.
	MutantEarlyRoot Mutant = "early-root"
	// MutantLateFreeze saves a later state than the checkpoint says.
	MutantLateFreeze Mutant = "late-freeze"
	// MutantLateReserve makes the reserve when there is time for that.
	MutantLateReserve Mutant = "late-reserve"
	// MutantStayFull takes a disk that was full once for full.
	MutantStayFull Mutant = "stay-full"
)
