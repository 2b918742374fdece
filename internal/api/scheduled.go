package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// ScheduledHeader of the answer to DELETE of an exchange or a virtual host tells how many scheduled messages it leaves
// behind or takes along. It is not there if it is none.
const ScheduledHeader = "X-Scheduled-Messages"

// Backlog counts what waits in delayed exchanges.
type Backlog struct {
	Messages  int64   `json:"messages"`
	Bytes     int64   `json:"bytes"`       // of bodies
	NextDue   *string `json:"next_due"`    // RFC 3339 with ms: nothing fires before; null if nothing waits
	NextDueMS *int64  `json:"next_due_ms"` // the same in ms since the Unix epoch
}

// A Schedule of GET /api/x/scheduled is what waits in one delayed exchange.
type Schedule struct {
	VHost    string `json:"vhost"`
	Exchange string `json:"exchange"`
	Backlog
	// the exchange was deleted, or is no delayed one any more: declare it before what waits is due
	Orphan bool `json:"orphan"`
}

// Schedules of GET /api/x/scheduled/{vhost} is what waits in all delayed exchanges of a virtual host.
type Schedules struct {
	VHost string `json:"vhost"`
	Backlog
	Exchanges List[Schedule] `json:"exchanges"`
}

// A Waiting message of GET /api/x/scheduled/{vhost}/{exchange} or GET /api/x/waiting/{vhost}/{queue}.
type Waiting struct {
	ID           string   `json:"id"`     // never used again
	Due          string   `json:"due"`    // RFC 3339 with ms
	DueMS        int64    `json:"due_ms"` // since the Unix epoch
	InMS         int64    `json:"in_ms"`  // from now; negative if it is late
	Queue        string   `json:"queue,omitempty"`
	Exchange     string   `json:"exchange"` // in which it waits; of a message in a queue, to which it was published
	RoutingKey   string   `json:"routing_key"`
	MessageID    *string  `json:"message_id"`
	PayloadBytes int      `json:"payload_bytes"`      // of the whole payload, shown or not
	Why          string   `json:"why,omitempty"`      // it waits in a queue: retry, delivery-time
	Returns      *uint32  `json:"returns,omitempty"`  // of a message in a queue
	Failures     *uint32  `json:"failures,omitempty"` // of these
	Properties   Editable `json:"properties"`

	// Of a scheduled message that is shown by itself: the queues to which it would go if it were due now, and why to
	// none, no_exchange or no_route.
	Queues  *List[string] `json:"queues,omitempty"`
	Refused string        `json:"refused,omitempty"`

	Payload         *string `json:"payload,omitempty"`
	PayloadEncoding string  `json:"payload_encoding,omitempty"` // string or base64
}

// WaitingPage is a portion of them in the order in which they are due. It may be short, or empty, and not be the last.
type WaitingPage struct {
	Items List[Waiting] `json:"items"`
	Next  *string       `json:"next"` // what ?after= has to be for the next portion, null at the end
}

// A WaitingFilter names messages by what they are; all that is given must hold. At least one thing must be given.
type WaitingFilter struct {
	MessageID  *string   `json:"message_id,omitempty"`
	RoutingKey *string   `json:"routing_key,omitempty"`
	Headers    Arguments `json:"headers,omitempty"` // strings, numbers and booleans, compared as text
	From       *Instant  `json:"from,omitempty"`    // due then or later
	Until      *Instant  `json:"until,omitempty"`   // due before that
}

// PostWaiting is the body of POST /api/x/scheduled/{vhost}/{exchange}/cancel and /fire, and of
// /api/x/waiting/{vhost}/{queue}/cancel: up to 1000 IDs, or a Filter. By a filter at most Limit messages are found,
// After which to go on.
type PostWaiting struct {
	IDs    *[]string      `json:"ids,omitempty"`
	Filter *WaitingFilter `json:"filter,omitempty"`
	Limit  *Integer       `json:"limit,omitempty"` // 1 to 1000, which is the default
	After  string         `json:"after,omitempty"` // Next of the last answer
}

// PostReschedule is the body of POST /api/x/scheduled/{vhost}/{exchange}/reschedule and
// /api/x/waiting/{vhost}/{queue}/reschedule.
type PostReschedule struct {
	PostWaiting
	NewInstant
}

// PostRetry is the body of POST /api/x/waiting/{vhost}/{queue}/retry: IDs, a Filter, or All that wait when it comes.
type PostRetry struct {
	PostWaiting
	All Flag `json:"all,omitempty"`
}

// NewInstant is the body of PATCH /api/x/scheduled/{vhost}/{exchange}/{id}: one of both. An instant that has passed is
// now.
type NewInstant struct {
	At *Instant  `json:"at,omitempty"`
	In *Duration `json:"in,omitempty"` // from now
}

// PutScheduled is the body of PUT /api/x/scheduled/{vhost}/{exchange}/key/{key}: a message and its instant. Without
// properties it has none but the key, and its payload is a string if no encoding is given. Published answers it.
type PutScheduled struct {
	PostPublish
	NewInstant
}

// Changed answers requests that change what waits.
type Changed struct {
	// one by one, in the order of the request; empty if there are more than 1000
	Results  List[WaitingOutcome] `json:"results"`
	Outcomes Object[int]          `json:"outcomes"` // how many there are of each
	Count    int                  `json:"count"`    // of messages that this request has changed
	Next     *string              `json:"next"`     // where to go on, if a filter may find more
}

// A WaitingOutcome is what became of one message: cancelled (now, or before), rescheduled, fired (now), already_fired,
// waits_for_retry (it was to be cancelled, and has been delivered before), unknown.
type WaitingOutcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
}

// Purged answers DELETE /api/x/scheduled/{vhost}/{exchange}.
type Purged struct {
	Purged uint64 `json:"purged"` // messages that will not fire
}

// Instant is ms since the Unix epoch, by the wall clock. It may arrive as a number, a string of digits, or RFC 3339.
type Instant int64

// ParseInstant reads an instant.
func ParseInstant(text string) (Instant, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return Instant(ms), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UnixMilli() < 0 {
		return 0, fmt.Errorf("'%s' is not a time: use ms since the Unix epoch, or the form 2030-01-31T12:00:00Z", text)
	}
	return Instant(t.UnixMilli()), nil
}

// UnmarshalJSON takes what ParseInstant takes.
func (i *Instant) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		return nil
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	at, err := ParseInstant(text)
	*i = at
	return err
}

// Remove is Delete, and tells how many scheduled messages that leaves behind or takes along.
func (c *Client) Remove(ctx context.Context, path string) (scheduled int, err error) {
	response, err := c.ask(ctx, http.MethodDelete, path, nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if _, err := readAnswer(response, http.MethodDelete, path); err != nil {
		return 0, err
	}
	if text := response.Header.Get(ScheduledHeader); text != "" {
		return strconv.Atoi(text)
	}
	return 0, nil
}
