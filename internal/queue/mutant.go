package queue

// Mutant names a fault planted on purpose, for tests that prove that a checker can fail. Each stands at exactly one
// place in the code, marked by its name.
type Mutant string

const (
	// MutantForgetGone leaves out of a checkpoint which messages of a chunk have gone since its page was written.
	MutantForgetGone Mutant = "forget-gone"
	// MutantChangeUnsaved changes chunks that the checkpoint in the making has not saved yet.
	MutantChangeUnsaved Mutant = "change-unsaved"
	// MutantStalePage lets a chunk that has changed go cold with the page that it had.
	MutantStalePage Mutant = "stale-page"
)

// Plant makes p, which is new, commit a fault. Only tests call it.
func (p *Pool) Plant(m Mutant) { p.mutant = m }

// PlantRequeueLast makes m, which is new, offer what was returned only after everything else: a fault planted
// on purpose, for tests that prove that a checker can fail. Nothing else calls it.
func (m *Messages) PlantRequeueLast() { m.requeueLast = true }
