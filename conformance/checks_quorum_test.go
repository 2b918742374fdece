package conformance

// retryChecks is what the rules of quorum queues and of retries ask to be shown.
var retryChecks = []check{
	{1, 1, "three rejects against a limit of 2", []string{"limit-by-reject", scenarioPrefix + "delivery-limit"}},
	{1, 2, "nacks against a limit, by series and by mode", []string{"limit-by-nack", "failed-mode-limit", scenarioPrefix + "delivery-count-mode"}},
	{1, 3, "a limit of 0 and a channel that closes", []string{"limit-zero-by-close"}},
	{1, 4, "21 rejects without a limit of its own", []string{"limit-of-20"}},
	{1, 5, "an argument and a policy: the smaller one, or the one that limits", []string{"limit-unlimited-argument", "limit-argument-below-policy", "limit-policy-below-argument"}},
	{1, 6, "a limit that a policy lowers below the count", []string{"limit-lowered"}},

	{2, 1, "counts after three nacks", []string{"counts-of-nacks", "failed-mode-nacks", scenarioPrefix + "delivery-count-mode"}},
	{2, 2, "counts after two rejects", []string{"counts-of-rejects"}},
	{2, 3, "counts after a nack and a close", []string{"counts-of-nack-and-close", "failed-mode-nack-and-close"}},

	{3, 1, "no count at first, 1 after a reject", []string{"counts-begin-absent"}},
	{3, 2, "a count that the publisher sent", []string{"counts-of-a-client"}},

	{4, 1, "counts in the queue that a dead letter goes to", []string{"counts-in-the-next-queue", scenarioPrefix + "counts-reset"}},

	{5, 1, "a returned message precedes those behind it", []string{"return-to-the-head", "requeue-to-original-place"}},
	{5, 2, "the order of two returns, by type", []string{"returns-in-their-order"}},

	{6, 1, "waits after rejects grow up to the maximum", []string{"retry-of-rejects", scenarioPrefix + "retry-delays"}},
	{6, 2, "waits after nacks, by mode", []string{"retry-of-nacks", "failed-mode-retry-of-nacks", scenarioPrefix + "retry-failed-mode"}},
	{6, 3, "the types failed and returned", []string{"retry-of-type-failed", "retry-of-type-returned", scenarioPrefix + "retry-types"}},
	{6, 4, "a waiting message is counted once and blocks no other", []string{"retry-hides-the-waiting", "retry-shown", scenarioPrefix + "retry-hidden"}},
	{6, 5, "a waiting message counts in the length limit", []string{"retry-counts-in-the-length", scenarioPrefix + "retry-hidden"}},
	{6, 6, "a waiting message whose TTL passes", []string{"retry-and-ttl", scenarioPrefix + "retry-deadline"}},
	{6, 7, "over the limit there is no wait", []string{"retry-after-the-limit", scenarioPrefix + "retry-limit"}},
	{6, 8, "a policy turns off what an argument turned on", []string{"retry-off-by-policy", scenarioPrefix + "retry-changes"}},
	{6, 9, "a policy with a type and no minimum", []string{"policy-delayed-retry-without-min"}},

	{7, 1, "a consumer that does not ack in time is cancelled", []string{"timeout-cancels", scenarioPrefix + "timeout-consumer"}},
	{7, 2, "a consumer without cancel notifications loses its channel", []string{"timeout-closes"}},
	{7, 3, "the timeouts of queue, policy and consumer", []string{"timeout-of-queue-and-policy", scenarioPrefix + "timeout-smaller"}},
	{7, 4, "a timeout that is text", []string{"consumer-timeout-text"}},

	{8, 1, "a cancelled consumer's unacked messages", []string{"cancel-keeps-the-unacked"}},
	{8, 2, "consumers of a deleted queue, with and without notification", []string{"cancel-notification", "cancel-not-announced"}},

	{9, 1, "one of two consumers gets all messages, then the other", []string{"single-active", scenarioPrefix + "consume-single-active"}},
	{9, 2, "a consumer of higher priority takes over in time", []string{"single-active-replaced-by-priority"}},

	{10, 1, "the consumer of higher priority first", []string{"consumer-priority-with-room"}},

	{11, 1, "the dialect with a limit of 16", []string{"apsaramq-limit"}},
}
