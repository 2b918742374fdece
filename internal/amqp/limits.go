package amqp

const (
	// ShortStringMax is the size in octets of the longest short string: its length is one octet.
	ShortStringMax = 255

	// ReplyTextMax is the size in octets of the longest reply text, a short string.
	ReplyTextMax = ShortStringMax

	// depthMax bounds how deep tables and arrays may nest in one another, so that a small frame cannot exhaust the
	// stack. Real clients stay below five.
	depthMax = 32
)
