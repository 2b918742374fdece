package api

import (
	"cmp"
	"slices"
	"time"
)

// DueCounts answers GET /api/x/scheduled[/{vhost}[/{exchange}]]?bucket=: how many scheduled messages are due when.
// Those of a stretch from FromMS until UntilMS are counted in buckets; the sums of several answers, each After the Next
// of the one before, are what one that is not Partial says.
type DueCounts struct {
	From      string              `json:"from"` // RFC 3339 with ms
	FromMS    int64               `json:"from_ms"`
	Until     string              `json:"until"`
	UntilMS   int64               `json:"until_ms"`
	BucketMS  int64               `json:"bucket_ms"`
	Messages  int64               `json:"messages"`  // due from then on, before that
	Bytes     int64               `json:"bytes"`     // of their bodies
	Before    int64               `json:"before"`    // messages due before From
	After     int64               `json:"after"`     // messages due at Until or later
	Overdue   int64               `json:"overdue"`   // messages, of all, that were due more than a second ago
	Buckets   List[DueBucket]     `json:"buckets"`   // those in which something is due, in order
	Exchanges List[DueInExchange] `json:"exchanges"` // those in which something is due from From on, before Until
	Partial   bool                `json:"partial"`   // there is more than one request counts
	Next      *string             `json:"next"`      // what ?after= has to be to count the rest, null at the end
}

// A DueBucket counts the messages that are due from an instant on, for the length of a bucket.
type DueBucket struct {
	From     string `json:"from"`
	FromMS   int64  `json:"from_ms"`
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
}

// DueInExchange counts those of one delayed exchange.
type DueInExchange struct {
	VHost    string `json:"vhost"`
	Exchange string `json:"exchange"`
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
}

// Add adds what another answer counted that is for the same stretches.
func (c *DueCounts) Add(o *DueCounts) {
	c.Messages += o.Messages
	c.Bytes += o.Bytes
	c.Before += o.Before
	c.After += o.After
	c.Overdue += o.Overdue
	for _, b := range o.Buckets {
		i, found := slices.BinarySearchFunc(c.Buckets, b, func(a, b DueBucket) int { return cmp.Compare(a.FromMS, b.FromMS) })
		if !found {
			c.Buckets = slices.Insert(c.Buckets, i, DueBucket{From: b.From, FromMS: b.FromMS})
		}
		c.Buckets[i].Messages += b.Messages
		c.Buckets[i].Bytes += b.Bytes
	}
	for _, x := range o.Exchanges {
		i := slices.IndexFunc(c.Exchanges, func(y DueInExchange) bool { return x.VHost == y.VHost && x.Exchange == y.Exchange })
		if i < 0 {
			i = len(c.Exchanges)
			c.Exchanges = append(c.Exchanges, DueInExchange{VHost: x.VHost, Exchange: x.Exchange})
		}
		c.Exchanges[i].Messages += x.Messages
		c.Exchanges[i].Bytes += x.Bytes
	}
	c.Partial, c.Next = o.Partial, o.Next
}

// ShowInstant writes ms since the Unix epoch as answers do: RFC 3339 with ms, in UTC.
func ShowInstant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
