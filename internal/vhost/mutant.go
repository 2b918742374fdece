package vhost

import "github.com/bartleby-mq/bartleby/internal/queue"

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
	// MutantFreeNoAck does not hold back consumers without acks when the prefetch of their channel is used up.
	MutantFreeNoAck Mutant = "free-no-ack"
	// MutantRecoverSettled returns with basic.recover what the channel has settled in its transaction.
	MutantRecoverSettled Mutant = "recover-settled"
	// MutantForgetWake does not tell a queue that a consumer has room again.
	MutantForgetWake Mutant = "forget-wake"
	// MutantForgetDeath sends a letter on with the history that it had.
	MutantForgetDeath Mutant = "forget-death"
	// MutantKeepExcess lets queues grow beyond their length.
	MutantKeepExcess Mutant = "keep-excess"
	// MutantConfirmAtOnce lets confirms depend on nothing.
	MutantConfirmAtOnce Mutant = "confirm-at-once"
	// MutantForgetTook holds a letter without noting which targets have it.
	MutantForgetTook Mutant = "forget-took"
	// MutantReuseNumber gives numbers of transient queues again, after a restart, that facts name.
	MutantReuseNumber Mutant = "reuse-number"
	// MutantBorrowRecord makes durable copies of what only transient copies refer to.
	MutantBorrowRecord Mutant = "borrow-record"
	// MutantShelveCycle puts letters that would come round in a cycle on the shelf, though their queue holds letters.
	MutantShelveCycle Mutant = "shelve-cycle"
	// MutantForgetRetry leaves held letters to the clock when the topology changes.
	MutantForgetRetry Mutant = "forget-retry"
	// MutantForgetHeld forgets in a restart that letters are held.
	MutantForgetHeld Mutant = "forget-held"
	// MutantShelfGrows lets the shelf grow beyond its bytes.
	MutantShelfGrows Mutant = "shelf-grows"
	// MutantShelfUnfair lets the oldest letter go when the shelf is full, whosever it is.
	MutantShelfUnfair Mutant = "shelf-unfair"
	// MutantWrongCause says of every lost letter that its exchange led nowhere.
	MutantWrongCause Mutant = "wrong-cause"
	// MutantRedriveCopy leaves what was sent on from the shelf there.
	MutantRedriveCopy Mutant = "redrive-copy"
	// MutantSendTwice leaves what a job sent back where it was.
	MutantSendTwice Mutant = "send-twice"
	// MutantJobHurry lets jobs go as fast as they can.
	MutantJobHurry Mutant = "job-hurry"
	// MutantJobGreedy lets jobs take what came after they began.
	MutantJobGreedy Mutant = "job-greedy"
	// MutantJobUnasked lets jobs go on whose user may not have them any more.
	MutantJobUnasked Mutant = "job-unasked"
	// MutantJobAnyLetter lets jobs take letters that their user may not take.
	MutantJobAnyLetter Mutant = "job-any-letter"
	// MutantForgetBack does not count what came back.
	MutantForgetBack Mutant = "forget-back"
	// MutantForgetResume lets what waits wait for ever.
	MutantForgetResume Mutant = "forget-resume"
	// MutantShortWait lets every return wait as the first one does.
	MutantShortWait Mutant = "short-wait"
	// MutantForgetReturn does not count what comes back.
	MutantForgetReturn Mutant = "forget-return"
	// MutantForgetFailure takes a crash for no failure of those who had messages.
	MutantForgetFailure Mutant = "forget-failure"
	// MutantForgetTimeout lets every delivery be held for ever.
	MutantForgetTimeout Mutant = "forget-timeout"
	// MutantRefuseLate refuses the settlement of what was taken back.
	MutantRefuseLate Mutant = "refuse-late"
	// MutantKeepAWhile keeps a message in place for a second, and not for ever.
	MutantKeepAWhile Mutant = "keep-a-while"
	// MutantForgetOptions forgets the options in a restart.
	MutantForgetOptions Mutant = "forget-options"
	// MutantFireTwice leaves a scheduled message where it is when it has fired.
	MutantFireTwice Mutant = "fire-twice"
	// MutantFireEarly lets scheduled messages fire before they are due.
	MutantFireEarly Mutant = "fire-early"
	// MutantForgetCancel says that a scheduled message is cancelled, and leaves it.
	MutantForgetCancel Mutant = "forget-cancel"
	// MutantForgetDeferred forgets in a restart that a message was moved to another instant.
	MutantForgetDeferred Mutant = "forget-deferred"
	// MutantForgetRecalled forgets in a restart which messages were cancelled.
	MutantForgetRecalled Mutant = "forget-recalled"
	// MutantForgetGrave forgets in a restart what was ended without a look at it.
	MutantForgetGrave Mutant = "forget-grave"

	// MutantMoveCramped lets letters move while there is no room for that.
	MutantMoveCramped Mutant = "move-cramped"

	// MutantForgetApplied does not log how far a committed transaction has come.
	MutantForgetApplied Mutant = "forget-applied"

	// MutantForgetRuled does not log on which queues a change of policies is in force.
	MutantForgetRuled Mutant = "forget-ruled"

	// MutantForgetMatched forgets in a restart which policies apply to queues.
	MutantForgetMatched Mutant = "forget-matched"

	// Faults of the queues.

	// MutantForgetGone is queue.MutantForgetGone.
	MutantForgetGone = Mutant(queue.MutantForgetGone)
	// MutantChangeUnsaved is queue.MutantChangeUnsaved.
	MutantChangeUnsaved = Mutant(queue.MutantChangeUnsaved)
	// MutantStalePage is queue.MutantStalePage.
	MutantStalePage = Mutant(queue.MutantStalePage)
)

// forgets reports whether m does not fold facts of a kind.
func (m Mutant) forgets(k FactKind) bool {
	return m == MutantForgetHeld && k == Held || m == MutantForgetOptions && k == Configured || m == MutantForgetGrave && k == Buried ||
		m == MutantForgetDeferred && k == Deferred || m == MutantForgetRecalled && k == Recalled
}

// Plant makes v, which is new, commit a fault. Only tests call it.
func (v *VHost) Plant(m Mutant) {
	v.mutant = m
	v.pool.Plant(queue.Mutant(m))
}
