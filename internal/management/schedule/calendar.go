package schedule

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/duration"
	"github.com/bartleby-mq/bartleby/internal/fairshare"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A count is how the messages of a calendar are asked for: in stretches of bucket ms, from an instant until another, by
// the wall clock, in ms.
type count struct {
	from, until, bucket int64
	now                 int64
	after               position
}

// Weeks begin on Monday: monday is the first one of the epoch.
const week, monday = 7 * 86_400_000, 4 * 86_400_000

// A position is how far a calendar has counted: up to a message of a schedule of a virtual host. Those before, by name
// and by number, are counted.
type position struct {
	vhost string
	id    vhost.ScheduledID
}

// countParameters are what a count is asked for with.
var countParameters = []string{"bucket", "from", "until", "to", "after", "columns"}

// countOfQuery reads a count from a query. Nothing is asked to be counted if there is no bucket: then ok is false.
func countOfQuery(r *web.Request) (c count, ok bool, err error) {
	query := r.URL.Query()
	if !query.Has("bucket") {
		return c, false, nil
	}
	if err := web.OnlyKnown(query, countParameters); err != nil {
		return c, false, err
	}
	c.bucket, err = duration.Milliseconds(query.Get("bucket"))
	if err == nil && (c.bucket < 1 || c.bucket > bucketMax) {
		err = fmt.Errorf("'%s' is not between 1ms and ten years", query.Get("bucket"))
	}
	if err != nil {
		return c, false, web.BadRequest("bucket: %v", err)
	}
	c.now = r.Engine.Now().UnixMilli()
	c.from = c.now - c.now%c.bucket
	if c.bucket%week == 0 {
		c.from = c.now - (c.now-monday)%c.bucket
	}
	c.until = math.MaxInt64
	if err := instants(query, &c.from, &c.until); err != nil {
		return c, false, err
	}
	c.from = min(c.from, instantMax)
	if c.until == math.MaxInt64 {
		c.until = c.from + c.bucket*bucketsMax
	}
	c.until = min(c.until, instantMax)
	switch {
	case c.from >= c.until:
		return c, false, web.BadRequest("from (%s) is not before until (%s)", web.FormatMS(c.from), web.FormatMS(c.until))
	case (c.until-c.from-1)/c.bucket >= bucketsMax:
		return c, false, web.BadRequest("from %s until %s there are more than %d buckets of %s: use a larger bucket, or a shorter period", web.FormatMS(c.from), web.FormatMS(c.until), bucketsMax, query.Get("bucket"))
	}
	if text := query.Get("after"); text != "" {
		id, name, _ := strings.Cut(text, "/")
		if c.after.id, ok = vhost.ParseScheduledID(id); !ok || name == "" {
			return c, false, web.BadRequest("after must be the 'next' of an earlier response, not '%s'", text)
		}
		c.after.vhost = name
	}
	return c, true, nil
}

// instants reads from and until, which may be called to, where they are given.
func instants(query url.Values, from, until *int64) error {
	if query.Has("to") && query.Has("until") {
		return web.BadRequest("give either until or to, not both")
	}
	for name, to := range map[string]*int64{"from": from, "until": until, "to": until} {
		if text := query.Get(name); text != "" {
			at, err := api.ParseInstant(text)
			if err != nil {
				return web.BadRequest("%s: %v", name, err)
			}
			*to = int64(at)
		}
	}
	return nil
}

// A tallying counts what is due in several schedules, until its time is up.
type tallying struct {
	request *web.Request
	count   count
	budget  fairshare.Budget
	looked  bool // at least once: a request that waited for its turn comes on, too
	shown   api.DueCounts
	buckets []vhost.DueCount
}

// countDue answers with how many messages are due when in those virtual hosts, of all delayed exchanges or one.
func countDue(r *web.Request, c count, hosts []string, exchange *string) (web.Answer, error) {
	t := &tallying{request: r, count: c, budget: r.Task.Budget(countPatience)}
	t.buckets = make([]vhost.DueCount, (c.until-c.from-1)/c.bucket+1)
	slices.Sort(hosts)
	for _, host := range hosts {
		if host < c.after.vhost || t.shown.Partial {
			continue
		}
		if err := t.host(host, exchange); err != nil {
			return web.Answer{}, err
		}
	}
	s := &t.shown
	s.From, s.FromMS, s.Until, s.UntilMS, s.BucketMS = web.FormatMS(c.from), c.from, web.FormatMS(c.until), c.until, c.bucket
	for i, b := range t.buckets {
		if b.Messages > 0 {
			at := c.from + int64(i)*c.bucket
			s.Buckets = append(s.Buckets, api.DueBucket{From: web.FormatMS(at), FromMS: at, Messages: int64(b.Messages), Bytes: b.Bytes})
		}
	}
	return web.OK(s)
}

// A scheduleAt is a schedule, and the exchange whose it is.
type scheduleAt struct {
	id       fact.QueueID
	exchange string
}

// host counts what is due in the delayed exchanges of a virtual host that are not counted yet.
func (t *tallying) host(name string, only *string) error {
	var all []scheduleAt
	err := t.request.Look(name, func(v vhost.Reader) {
		for _, exchange := range v.ScheduleNames() {
			if only != nil && exchange != *only {
				continue
			}
			if id, n, ok := v.ScheduleNamed(exchange); ok && n > 0 {
				all = append(all, scheduleAt{id, exchange})
			}
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b scheduleAt) int { return int(int64(a.id) - int64(b.id)) })
	ahead := t.request.Ahead(name)
	for _, s := range all {
		at := vhost.ScheduledID{Schedule: s.id}
		if after := t.count.after; after.vhost == name && s.id <= after.id.Schedule {
			if s.id < after.id.Schedule {
				continue
			}
			at = after.id
		}
		more, err := t.schedule(name, s.exchange, &at, ahead)
		if err != nil || more {
			next := at.String() + "/" + name
			t.shown.Partial, t.shown.Next = true, &next
			return err
		}
	}
	return nil
}

// schedule counts what is due in a schedule from at on, which goes on as far as it was counted; more says that the time
// was up before its end.
func (t *tallying) schedule(host, exchange string, at *vhost.ScheduledID, ahead int64) (more bool, err error) {
	in := func(wall int64) vhost.Instant { return vhost.Instant(wall + ahead) }
	c := vhost.NewCalendar(in(t.count.from), in(t.count.until), vhost.Instant(t.count.bucket), in(t.count.now-overdueLeast.Milliseconds()))
	for more = true; more && err == nil && !(t.looked && t.budget.Spent()); {
		t.looked = true
		var took time.Duration
		err = t.request.Look(host, func(v vhost.Reader) {
			began := time.Now()
			*at, more = v.CountSome(c, *at, countPortion)
			took = time.Since(began)
		})
		if err == nil && more {
			err = t.request.Rest(took)
		}
	}
	d := api.DueInExchange{VHost: host, Exchange: exchange}
	for i, b := range c.Buckets {
		t.buckets[i].Messages += b.Messages
		t.buckets[i].Bytes += b.Bytes
		d.Messages += int64(b.Messages)
		d.Bytes += b.Bytes
	}
	s := &t.shown
	s.Before += int64(c.Before)
	s.After += int64(c.After)
	s.Overdue += int64(c.Overdue)
	if d.Messages > 0 {
		s.Messages += d.Messages
		s.Bytes += d.Bytes
		s.Exchanges = append(s.Exchanges, d)
	}
	return more, err
}
