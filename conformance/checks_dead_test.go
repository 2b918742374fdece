package conformance

// deadChecks is what the rules of dead letters ask to be shown.
var deadChecks = []check{
	{1, 1, "a rejected message is in the dead-letter queue, reason rejected", []string{"rejected"}},
	{1, 2, "a nack of many at once dead-letters each of them", []string{"nacked-multiple"}},
}
