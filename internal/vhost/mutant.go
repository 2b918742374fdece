package vhost

// Mutant names a fault planted on purpose, for tests that prove that a checker can fail. Each stands at exactly
// one place in the code, marked by its name.
type Mutant string

const (
	// MutantLoseMove ends a dead letter without making the copy in its last target.
	MutantLoseMove Mutant = "lose-move"
	// MutantForgetExpiry keeps the deadlines of single messages out of the set.
	MutantForgetExpiry Mutant = "forget-expiry"
	// MutantRequeueLast offers what was returned only after everything else.
	MutantRequeueLast Mutant = "requeue-last"
	// MutantDoubleCount counts the end of a copy twice.
	MutantDoubleCount Mutant = "double-count"
	// MutantForgetEnded leaves the end of a copy out of the log.
	MutantForgetEnded Mutant = "forget-ended"
	// MutantIgnorePrefetch hands over without taking credit.
	MutantIgnorePrefetch Mutant = "ignore-prefetch"
	// MutantForgetWake does not tell a queue that a consumer has room again.
	MutantForgetWake Mutant = "forget-wake"
	// MutantForgetDeath sends a letter on with the history that it had.
	MutantForgetDeath Mutant = "forget-death"
	// MutantKeepExcess lets queues grow beyond their length.
	MutantKeepExcess Mutant = "keep-excess"
	// MutantConfirmAtOnce lets confirms depend on nothing.
	MutantConfirmAtOnce Mutant = "confirm-at-once"
)

// Plant makes v, which is new, commit a fault. Only tests call it.
func (v *VHost) Plant(m Mutant) { v.mutant = m }
