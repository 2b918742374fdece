package conformance

// expiryChecks is what the rules of expiry and of limits ask to be shown.
var expiryChecks = []check{
	{1, 1, "an expiration that is no number is refused, routes or not", []string{"expiration-word"}},
}
