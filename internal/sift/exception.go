package sift

// normalMax is how long the normal form of an exception is, in bytes.
const normalMax = 400

// appendException appends the normal form of the exception that headers or body tell of, nothing if they tell of none.
func appendException(b, properties, body []byte) []byte { return b }

// appendFingerprint appends the number of a normal form.
func appendFingerprint(b, normal []byte) []byte { return b }
