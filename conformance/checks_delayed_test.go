package conformance

// delayedChecks is what the rules of delayed messages ask to be shown.
var delayedChecks = []check{
	{1, 1, "a type that is missing, not a string, the delayed type itself, unknown", []string{"delayed-type-missing", "delayed-type-delayed", "delayed-type-unknown"}},
	{1, 2, "a delayed topic exchange routes by pattern", []string{"delayed-topic"}},

	{2, 1, "500 as an integer is half a second, the header is negated", []string{"delay-integer", "delay-integer-of-any-type", scenarioPrefix + "delayed-values"}},
	{2, 2, "500 as text is the same", []string{"delay-text"}},
	{2, 3, "zero and negative delays are immediate", []string{"delay-not-positive"}},
	{2, 4, "a delay beyond 2³² is scheduled", []string{"delay-beyond-the-plugin"}},
	{2, 5, "a delay of true is ignored", []string{"delay-of-another-kind"}},
	{2, 6, "a fraction is truncated to milliseconds", []string{"delay-float"}},

	{3, 1, "a queue bound after the publish gets it", []string{"delayed-bound-later"}},
	{3, 2, "a queue unbound meanwhile does not get it", []string{"delayed-unbound"}},
	{3, 3, "the order of due times, then of publishes", []string{"delayed-order", "delayed-order-of-equals", scenarioPrefix + "delayed-order"}},
	{3, 4, "an expiration counts from arrival", []string{"delayed-ttl"}},
	{3, 5, "a delayed exchange bound to another one", []string{"delayed-behind-an-exchange"}},

	{4, 1, "mandatory is confirmed and not returned", []string{"delayed-mandatory"}},
	{4, 2, "the alternate exchange gets no copy immediately", []string{"delayed-alternate-not-at-once", "delayed-alternate-when-due"}},
	{4, 3, "mandatory without delay and binding is returned", []string{"delayed-mandatory-at-once"}},

	{5, 1, "a restart before it is due", []string{scenarioPrefix + "delayed-order"}},
	{5, 2, "a restart after it was due", []string{scenarioPrefix + "delayed-overdue"}},
	{5, 3, "a kill loses no confirmed message", []string{testPrefix + "crashtest TestKillConfirmed"}},
	{5, 4, "the exchange counts its scheduled messages", []string{"delayed-counted"}},

	{6, 1, "a delayed dead-letter exchange, and a second death", []string{"delayed-dead-letters"}},
	{6, 2, "a consumer that publishes again", []string{"delayed-republished"}},

	{7, 1, "at-least-once through a delayed exchange, one copy", []string{"delayed-held"}},

	{8, 1, "an alternate exchange set by policy meanwhile", []string{"delayed-alternate-by-policy"}},

	{9, 1, "the store cannot be consumed or published to", []string{"delayed-no-queue-to-reach"}},

	{10, 1, "thirty seconds, then one second", []string{"delayed-example"}},
}
