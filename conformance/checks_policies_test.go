package conformance

// policiesChecks is what the rules of policies and permissions ask to be shown.
var policiesChecks = []check{
	{1, 1, "anchored and unanchored patterns", []string{"policy-pattern-anchored", "pattern-is-searched"}},
	{1, 2, "a pattern that is not a regular expression", []string{"policy-pattern-invalid"}},
	{1, 3, "a policy for exchanges does not apply to queues", []string{"policy-for-exchanges-only"}},

	{2, 1, "only the higher priority, without the TTL of the lower", []string{"no-ttl-of-the-lesser-policy", "highest-priority-alone"}},
	{2, 2, "the lower one once the higher is cleared", []string{"no-ttl-of-the-lesser-policy"}},

	{3, 1, "a policy with a key that the type does not have", []string{"policy-key-of-another-type", "limit-of-a-classic-queue"}},

	{4, 1, "a TTL that is text", []string{"policy-message-ttl-text"}},
	{4, 2, "an unknown overflow", []string{"policy-overflow-unknown"}},
	{4, 3, "an expiry of 0", []string{"policy-expires-zero"}},
	{4, 4, "a key with the prefix x- of arguments", []string{"policy-unknown-key", "policy-dead-letter-queue"}},
	{4, 5, "no key at all", []string{"policy-empty"}},

	{5, 1, "the smaller length of policy and operator policy", []string{"operator-policy-minimum"}},
	{5, 2, "an operator policy cannot set a dead-letter exchange", []string{"policy-operator-dlx"}},
	{5, 3, "an unlimited delivery limit against an operator's", []string{"operator-delivery-limit"}},

	{6, 1, "the smaller TTL of argument and policy", []string{"smaller-ttl", "smaller-ttl-by-argument"}},
	{6, 2, "exchange by argument, key by policy", []string{"argument-dlx-beats-policy"}},
	{6, 3, "an operator's length below the argument", []string{"operator-length-below-argument"}},

	{7, 1, "a length lowered below the current length", []string{"max-length-lowered"}},
	{7, 2, "a dead-letter exchange cleared while a message is unacked", []string{"policy-dlx-on-a-live-queue"}},

	{8, 1, "the command for policies, and the list of policies", []string{testPrefix + "internal/cli TestScripts"}},
	{8, 2, "pattern and definition in one word", []string{testPrefix + "internal/cli TestScripts"}},
	{8, 3, "clearing a policy that does not exist", []string{testPrefix + "internal/cli TestScripts"}},

	{9, 1, "a policy without a pattern, a new one, one that is replaced", []string{"policy-key-missing", "policy-status"}},
	{9, 2, "users who may not set policies", []string{"policy-needs-a-tag"}},
	{9, 3, "policies exported and imported", []string{"policies-exported-and-imported", testPrefix + "internal/management TestDefinitions"}},

	{10, 1, "write on the dead-letter exchange, read on the queue", []string{"denied-declare-with-dlx", "denied-declare-with-dlx-unreadable"}},
	{10, 2, "the default exchange as dead-letter exchange", []string{"denied-declare-with-default-dlx"}},
	{10, 3, "a dead-letter exchange by policy is not checked", []string{"dlx-by-policy-is-not-checked"}},
	{10, 4, "write on the default exchange only", []string{"write-to-the-default-exchange-alone"}},
	{10, 5, "a permission is not anchored", []string{"permission-is-searched"}},

	{11, 1, "a topic permission and the keys of CC", []string{"topic-write"}},
	{11, 2, "an exchange without a record", []string{"topic-without-record"}},

	{12, 1, "mandatory and the alternate exchange", []string{"alternate-exchange-mandatory"}},
	{12, 2, "alternates of each other", []string{"alternate-exchange-cycle"}},

	{13, 1, "another dead-letter exchange at a second declaration", []string{"dead-letter-exchange-inequivalent"}},
}
