package conformance

// expiryChecks is what the rules of expiry and of limits ask to be shown.
var expiryChecks = []check{
	{1, 1, "an expiration that is not a number is refused, routable or not", []string{"expiration-word"}},
	{1, 2, "a TTL argument must be an integer of any type, not negative", []string{"message-ttl-negative", "message-ttl-string", "integer-argument-of-any-type"}},
	{1, 3, "the smaller of queue TTL and expiration", []string{"smaller-ttl-is-the-message's", "smaller-ttl-is-the-queue's"}},
	{1, 4, "the smaller of argument and policy", []string{"smaller-ttl"}},
	{1, 5, "ten years are accepted", []string{"expiration-valid"}},

	{2, 1, "in a transaction the clock starts at commit", []string{"transaction-starts-the-clock-at-commit", "transaction-expires-after-commit", scenarioPrefix + "ttl-tx"}},
	{2, 2, "a returned message keeps its deadline", []string{"requeue-keeps-the-deadline", scenarioPrefix + "ttl-deadline-kept"}},
	{2, 3, "a policy's TTL applies to later messages only", []string{"policy-ttl-is-not-retroactive"}},
	{2, 4, "time counts while the broker is down", []string{scenarioPrefix + "ttl-restart"}},

	{3, 1, "a short expiration behind a long one", []string{"topology-delay-mixed", scenarioPrefix + "ttl-any-position"}},
	{3, 2, "an expiration behind a message without", []string{"expired-behind-another"}},
	{3, 3, "the first unexpired message is delivered", []string{"fresh-after-expired"}},
	{3, 4, "a late consumer gets the unexpired messages", []string{"consumer-gets-only-fresh"}},
	{3, 5, "in a quorum queue each priority expires on its own", []string{"quorum-expired-behind-a-lower-priority"}},

	{4, 1, "TTL 0 reaches a waiting consumer, and returned it expires", []string{"ttl-zero-delivered"}},
	{4, 2, "TTL 0 without a consumer is acked, not returned, not ready", []string{"ttl-zero-unwanted"}},

	{5, 1, "an unused queue is deleted with its messages", []string{"idle-queue-expires"}},
	{5, 2, "a consumer prevents expiry; its end starts the time", []string{"consumer-keeps-the-queue"}},
	{5, 3, "a passive declaration restarts the time", []string{"declare-renews"}},
	{5, 4, "a publish does not restart it", []string{"publish-does-not-renew"}},
	{5, 5, "x-expires of 0 is refused", []string{"expires-zero"}},

	{6, 1, "seven into five: the oldest two are dead-lettered, all are acked", []string{"topology-length"}},
	{6, 2, "unacked messages do not count", []string{"unacked-are-not-counted"}},
	{6, 3, "returned messages are the head that is dropped", []string{"returned-over-the-limit"}},
	{6, 4, "bytes count bodies; one too large empties the queue", []string{"one-body-of-101", "bytes", "single-message-over-bytes"}},
	{6, 5, "reject-publish nacks and does not dead-letter", []string{"reject-publish"}},
	{6, 6, "reject-publish-dlx nacks and dead-letters", []string{"reject-publish-dlx"}},
	{6, 7, "a length of zero, refusing or dropping, with a consumer", []string{"length-zero-refuses-all", "length-zero"}},
	{6, 8, "a quorum queue refuses late; Bartleby immediately", []string{"quorum-reject-publish"}},
	{6, 9, "overflow by argument and policy, quorum and classic", []string{"quorum-overflow-of-a-policy", "argument-overflow-beats-policy"}},

	{7, 1, "one refusing queue of two causes one nack", []string{"one-nack-of-two-routes"}},
	{7, 2, "an unroutable message is returned, then acked", []string{"return-before-confirm", "unroutable-is-acked"}},

	{8, 1, "a message returned to a full queue of one is dropped", []string{"returned-to-a-queue-of-one"}},

	{9, 1, "the highest priority first, above the maximum is the maximum", []string{"priority-order"}},
	{9, 2, "over the limit the highest priority is dropped", []string{"priority-dropped-first"}},
	{9, 3, "in a quorum queue no priority is 4", []string{"quorum-priority", "quorum-32-priorities"}},
	{9, 4, "an expired message behind a higher priority", []string{"expired-behind-a-higher-priority", scenarioPrefix + "ttl-priorities"}},

	{10, 1, "unacked messages do not expire; returned ones do, in order", []string{"unacked-are-counted-apart", "unacked-do-not-expire"}},

	{11, 1, "15 minutes in a delay queue", []string{scenarioPrefix + "delay-of-a-quarter-hour", "topology-delay"}},
	{11, 2, "a full delay queue dead-letters its oldest immediately", []string{"delay-queue-overflows"}},
}
