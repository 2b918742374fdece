package api

import "context"

// ClockAdvance is the body of POST /api/x/clock/advance, which a broker started with a test clock answers with Clock
// once every expiry, delay and backoff up to then has happened.
type ClockAdvance struct {
	MS int64 `json:"ms"` // how far to go on, at least 0
}

// Clock is what the clocks of a node show: the answer of GET /api/x/clock, and of POST to advance and resync below it.
// Instants are in ms since the Unix epoch.
type Clock struct {
	Now       int64            `json:"now"`       // by the virtual host that is the furthest ahead
	Wall      int64            `json:"wall"`      // by the machine
	BehindMS  int64            `json:"behind_ms"` // by how much the machine is behind Now
	Alarm     bool             `json:"alarm"`     // that is too much
	TestClock bool             `json:"test_clock"`
	VHosts    List[VHostClock] `json:"vhosts"` // that are up, by name
}

// VHostClock is the time of one virtual host.
type VHostClock struct {
	Name      string `json:"name"`
	Now       int64  `json:"now"`
	BehindMS  int64  `json:"behind_ms"`
	Resyncing bool   `json:"resyncing"` // it goes at half speed until the machine has caught up
}

// AdvanceClock moves the clock of a broker started with a test clock by ms milliseconds and returns its new time in
// ms since the Unix epoch.
func (c *Client) AdvanceClock(ctx context.Context, ms int64) (now int64, err error) {
	var clock Clock
	err = c.Post(ctx, ClockAdvance{MS: ms}, &clock, "x", "clock", "advance")
	return clock.Now, err
}
