package conformance

// deadChecks is what the rules of dead letters ask to be shown.
var deadChecks = []check{
	{1, 1, "a rejected message is in the dead-letter queue, reason rejected", []string{"rejected"}},
	{1, 2, "a nack with multiple dead-letters each message", []string{"nacked-multiple"}},
	{1, 3, "purge, deletion and expiry of a queue dead-letter nothing", []string{"not-dead-by-purge", "not-dead-by-delete", "idle-queue-expires"}},
	{1, 4, "a closed channel's messages return and are not dead-lettered", []string{"not-dead-by-channel-close"}},
	{1, 5, "a reject in a transaction waits for commit; rollback undoes it", []string{"transaction"}},

	{2, 1, "a reject after the TTL is a reject", []string{"reject-beats-ttl"}},
	{2, 2, "a return after the TTL is an expiry", []string{"returned-after-ttl"}},
	{2, 3, "the delivery limit is checked before a delayed retry", []string{"limit-before-delay"}},
	{2, 4, "a policy's smaller length drops the oldest, in order, as maxlen", []string{"four-cut-to-two", "max-length-lowered"}},

	{3, 1, "dead letters for a missing exchange are lost, later ones arrive", []string{"dlx-need-not-exist"}},
	{3, 2, "the empty name is the default exchange, and the message's own key its queue", []string{"empty-dlx-is-default-exchange"}},
	{3, 3, "a headers exchange matches reason and queue of the first death", []string{"headers-dlx-of-expired", "headers-dlx", scenarioPrefix + "dead-letter-headers-exchange"}},
	{3, 4, "the alternate exchange gets unroutable dead letters, under the first one's name", []string{"alternate-of-dlx"}},

	{4, 1, "without a dead-letter key, key and CC and BCC all route", []string{"cc-and-bcc-route-dead-letters"}},
	{4, 2, "only a dead-letter key routes; CC stays", []string{"dead-letter-key-replaces-all-keys"}},
	{4, 3, "the keys of a death are key and CC, not BCC", []string{"keys-of-two-cc-and-bcc"}},
	{4, 4, "CC of another type is refused", []string{"cc-is-no-array", "bcc-is-no-array"}},
	{4, 5, "the next hop's key is the last hop's", []string{"keys-of-the-last-hop"}},

	{5, 1, "one death is one entry, with these fields and wire types", []string{"x-death-of-one-death", scenarioPrefix + "death-properties"}},
	{5, 2, "original-expiration for every reason, and no expiration afterwards", []string{"original-expiration-of-any-death"}},
	{5, 3, "no original-expiration from a queue's TTL", []string{"expired-by-queue", scenarioPrefix + "death-queue-ttl"}},
	{5, 4, "a repeated death counts, moves to the front and keeps its other fields", []string{"repeated-death-counts", "first-time-stays", scenarioPrefix + "death-merged"}},
	{5, 5, "two reasons in one queue are two entries", []string{"two-reasons-are-two-entries", scenarioPrefix + "death-reasons"}},

	{6, 1, "headers of the first and of the last of two deaths", []string{"first-death-headers", "last-death-headers"}},
	{6, 2, "after one death they agree", []string{"last-is-first-after-one-death"}},
	{6, 3, "headers of a publisher are delivered before a death and replaced by it", []string{"first-death-headers-undisturbed", "first-death-headers-of-a-client"}},

	{7, 1, "fourteen properties survive, except the expiration", []string{"properties-survive", "cluster-id-survives"}},
	{7, 2, "an expired message does not expire again in a queue without TTL", []string{"no-second-expiry"}},
	{7, 3, "a user-id survives its user", []string{"user-id-of-a-deleted-user"}},

	{8, 1, "a republished history is not continued", []string{"republished-history"}},
	{8, 2, "an x-death of another type is delivered before a death and replaced by it", []string{"x-death-of-a-client-undisturbed", "x-death-of-another-type"}},
	{8, 3, "a publisher's count for this queue is ignored", []string{"history-of-a-client-in-a-cycle", "count-of-a-client"}},

	{9, 1, "expiry into the own queue ends the message", []string{"expiry-into-itself", "cyclic-dead-letter-becomes-lost-letter", scenarioPrefix + "cycle-own-queue", scenarioPrefix + "hold-cycle"}},
	{9, 2, "overflow into the own queue ends the message", []string{"overflow-into-itself"}},
	{9, 3, "rejection into the own queue continues and counts", []string{"reject-into-itself"}},
	{9, 4, "a long cycle with a rejection continues", []string{"long-cycle-with-a-rejection"}},
	{9, 5, "a cycle without a rejection ends before the first queue", []string{"cycle-without-a-rejection"}},
	{9, 6, "the other targets of a cyclic dead letter get it", []string{"only-the-cyclic-target-is-skipped"}},

	{10, 1, "a thousand rejected at once keep their order", []string{"many-at-once", "order-of-rejected"}},
	{10, 2, "messages that expire by the queue's TTL keep their order", []string{"order-of-expired"}},

	{11, 1, "a full classic target refuses; on Bartleby the dead letter becomes a lost letter", []string{"target-refuses", "refused-dead-letter-becomes-lost-letter", scenarioPrefix + "target-full"}},
	{11, 2, "a full quorum target accepts a dead letter beyond its limit", []string{"quorum-target-takes-more"}},
	{11, 3, "a full target with drop-head accepts it and drops its own head", []string{"target-drops-its-head"}},
	{11, 4, "after a kill during expiry each message is in one place", []string{testPrefix + "crashtest TestKillConfirmed"}},

	{12, 1, "a dead letter without an exchange is held, and arrives with one death", []string{"held-without-exchange", "held-for-a-cycle", scenarioPrefix + "hold-exchange-missing", scenarioPrefix + "hold-restart", scenarioPrefix + "hold-policy-changes"}},
	{12, 2, "with drop-head it is not held; on Bartleby it is", []string{"held-needs-reject-publish"}},
	{12, 3, "a dead letter waits for one target and is not sent again to the other", []string{"held-for-one-target", scenarioPrefix + "hold-one-target", scenarioPrefix + "hold-one-target-restart", scenarioPrefix + "hold-target-deleted"}},
	{12, 4, "held dead letters count for the length limit", []string{"held-counts-in-the-limit", scenarioPrefix + "hold-limit"}},
	{12, 5, "a purge counts held dead letters", []string{"purge-takes-held", scenarioPrefix + "hold-purge"}},
	{12, 6, "turning the strategy off deletes held dead letters; on Bartleby they stay", []string{"held-when-the-strategy-ends", scenarioPrefix + "hold-strategy-ends"}},

	{13, 1, "a dead-letter key alone is refused", []string{"dead-letter-routing-key-alone", "key-argument-needs-dlx-argument"}},
	{13, 2, "argument and policy, key by key", []string{"argument-dlx-beats-policy"}},
	{13, 3, "a declaration requires write permission on the dead-letter exchange", []string{"denied-declare-with-dlx"}},
	{13, 4, "a second declaration does not", []string{"dlx-not-checked-again"}},
	{13, 5, "another dead-letter exchange in a second declaration is refused", []string{"dead-letter-exchange-inequivalent"}},
	{13, 6, "a change of policy applies to messages already queued", []string{"policy-dlx-changed"}},

	{14, 1, "expiries without a dead-letter exchange are counted as disabled", []string{"expired-are-counted"}},
	{14, 2, "confirmed dead letters of at-least-once are counted", []string{"confirmed-are-counted"}},

	{15, 1, "a limit of 16 returns for every queue", []string{"apsaramq-limit", scenarioPrefix + "dialect-apsaramq-limit"}},
	{15, 2, "a message stays in a cycle, and x-death-total is the sum", []string{"apsaramq-cycle", scenarioPrefix + "dialect-apsaramq-circle", scenarioPrefix + "dialect-apsaramq-hops"}},
	{15, 3, "no TTL for dead letters, TTL for others", []string{"apsaramq-dead-letters-do-not-expire", scenarioPrefix + "dialect-apsaramq-letters"}},

	{16, 1, "a message's headers do not choose a dead-letter exchange", []string{"dead-letter-headers-of-a-client"}},

	{17, 1, "the topology of a rejection", []string{"topology-reject"}},
	{17, 2, "the topology of a TTL", []string{"topology-ttl"}},
	{17, 3, "the topology of a length", []string{"topology-length"}},
	{17, 4, "the topology of a delay, equal and mixed", []string{"topology-delay", "topology-delay-mixed"}},
	{17, 5, "a queue that leads to itself", []string{"topology-self-cycle"}},
	{17, 6, "a direct exchange with a dead-letter key", []string{"topology-some-exchange"}},
	{17, 7, "key foo, or bar by dead-letter key", []string{"topology-foo-bar"}},
}
