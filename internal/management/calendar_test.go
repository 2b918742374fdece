package management

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// due is what is due by counts, as text: the k of a bucket from the first instant on, and how much.
func due(c *api.DueCounts) string {
	var all []string
	for _, b := range c.Buckets {
		all = append(all, fmt.Sprintf("%d:%d/%d", (b.FromMS-c.FromMS)/c.BucketMS, b.Messages, b.Bytes))
	}
	return strings.Join(all, " ")
}

func TestScheduledByTime(t *testing.T) {
	// If this fails, what waits is counted for the wrong time, of the wrong exchange or virtual host, or shown to who
	// does not see that.
	t.Parallel()
	const now = 1_700_000_000_000 // 22:13:20 UTC
	d := later(t)
	d.want(201, "PUT", "/api/exchanges/%2F/more", `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"topic"}}`)
	for i, ms := range []int{1000, 400_000, 3_600_000, 3_600_000, 86_400_000, 30 * 86_400_000} {
		d.delay("later", "k", strings.Repeat("x", i+1), ms, "")
	}
	d.delay("more", "k", "1234567890", 500_000, "")
	counts := func(at string) api.DueCounts { return read[api.DueCounts](d, "/api/x/scheduled"+at) }
	for at, want := range map[string]string{
		"?bucket=1h":                              "0:3/13 1:2/7 24:1/5 720:1/6",
		"?bucket=1d":                              "0:5/20 1:1/5 30:1/6",
		"/%2F?bucket=86400000ms":                  "0:5/20 1:1/5 30:1/6",
		"/%2F/later?bucket=1d":                    "0:4/10 1:1/5 30:1/6",
		"/%2F/more?bucket=1w":                     "0:1/10",
		"/%2F/more?bucket=1w&from=1":              "2810:1/10",
		"/%2F/more?bucket=1h&until=1700000000000": "",
	} {
		c := counts(at)
		if got := due(&c); got != want || c.Partial || c.Next != nil {
			t.Errorf("%s: %s, want %s (partial %v)", at, got, want, c.Partial)
		}
	}
	c := counts(fmt.Sprintf("?bucket=10m&from=%d&to=%d", now+1001, now+86_400_000))
	if got := due(&c); got != "0:2/12 5:2/7" || c.Before != 1 || c.After != 2 || c.Messages != 4 || c.Bytes != 19 || c.From != "2023-11-14T22:13:21.001Z" || c.UntilMS != now+86_400_000 {
		t.Errorf("from a second on: %s, %+v", got, c)
	}
	if text := fmt.Sprint(c.Exchanges); text != "[{/ later 3 9} {/ more 1 10}]" {
		t.Errorf("by exchange: %s", text)
	}
	if c := counts("?bucket=1w"); c.From != "2023-11-13T00:00:00.000Z" {
		t.Errorf("a week begins at %s", c.From)
	}
	d.advance(500) // nothing is late on time
	if c := counts("?bucket=1h"); c.Overdue != 0 || c.FromMS != now-now%3_600_000 {
		t.Errorf("%+v", c)
	}
	blind := d.operator("blind", "management", "", "", "")
	if c := read[api.DueCounts](blind, "/api/x/scheduled/%2F?bucket=1d"); c.Messages != 7 {
		t.Errorf("who sees the virtual host counts %d", c.Messages)
	}
	d.want(201, "PUT", "/api/users/out", `{"password":"p","tags":"management"}`)
	out := d.as("out:p")
	if c := read[api.DueCounts](out, "/api/x/scheduled?bucket=1d"); c.Messages+c.Before+c.After != 0 || len(c.Exchanges) > 0 {
		t.Errorf("who does not see the virtual host counts %+v", c)
	}
	out.want(404, "GET", "/api/x/scheduled/%2F/later?bucket=1d", "")
}

func TestScheduledByTimeRefused(t *testing.T) {
	// If this fails, a count that was asked for wrongly is answered with something else, or what is asked for is
	// ignored.
	t.Parallel()
	d := later(t)
	for query, reason := range map[string]string{
		"bucket=": "is not a duration", "bucket=0": "is not between 1ms and ten years", "bucket=-1h": "is not a duration",
		"bucket=day": "is not a duration", "bucket=1.5": "write 1.5s, or 1.5ms", "bucket=3600000": "has no unit",
		"bucket=11000d": "ten years", "bucket=99999999999999999999d": "hundred years", "bucket=1h&from=x": "from: 'x' is not a time",
		"bucket=1h&from=1700000000000&until=1700000000000": "is not before", "bucket=1h&until=5": "is not before", "bucket=1d&from=9223372036854775807": "is not before",
		"bucket=1m&from=1700000000000&until=1800000000000": "more than 4000 buckets of 1m", "bucket=1ms&from=0&until=9223372036854775806": "more than 4000",
		"bucket=1h&until=1800000000000&to=1800000000000": "not both", "bucket=1h&after=7": "'next'", "bucket=1h&after=7-x/v": "'next'",
		"bucket=1h&filter=size:>1": "unknown parameter 'filter'",
	} {
		for _, at := range []string{"/api/x/scheduled?", scheduled + "?", scheduled + "/later?"} {
			d.refused(400, "bad_request", reason, "GET", at+query, "")
		}
	}
	d.want(404, "GET", scheduled+"/nothing?bucket=1d", "")
	for _, at := range []string{"/api/x/scheduled?from=1", scheduled + "?until=1", scheduled + "?filter=size:1", scheduled + "/later?colour=red", scheduled + "/later?buckets=1d", "/api/x/waiting/%2F/q?bucket=1d"} {
		d.refused(400, "bad_request", "unknown parameter", "GET", at, "")
	}
	if page := read[api.WaitingPage](d, scheduled+"/later?from=1&to=1800000000000"); len(page.Items) != 0 {
		t.Errorf("%+v", page)
	}
}

func TestScheduledByTimeGoesOn(t *testing.T) {
	// If this fails, messages of many days are counted otherwise than one by one, or a count that goes on where another
	// one ended misses messages, or counts some twice.
	t.Parallel()
	const n, exchanges, day, seed = 1500, 3, 86_400_000, 3
	t.Log("seed", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	d := open(t)
	truth := map[int64]int64{}
	var ids []vhost.ScheduledID
	for k := range exchanges {
		x := fmt.Sprint("x", k)
		d.want(201, "PUT", "/api/exchanges/%2F/"+x, `{"type":"x-delayed-message","durable":true,"arguments":{"x-delayed-type":"topic"}}`)
		for range n / exchanges {
			ms := 1 + dice.Int64N(40*day)
			truth[(d.engine.Now().UnixMilli()+ms)/day]++
			id, _ := vhost.ParseScheduledID(d.delay(x, "k", "x", int(ms), ""))
			ids = append(ids, id)
		}
	}
	whole := read[api.DueCounts](d, "/api/x/scheduled?bucket=1d")
	for _, b := range whole.Buckets {
		if want := truth[b.FromMS/day]; b.Messages != want {
			t.Errorf("%s: %d messages, want %d", b.From, b.Messages, want)
		}
	}
	if len(whole.Buckets) != len(truth) || whole.Messages != n || whole.Before+whole.After+whole.Overdue != 0 {
		t.Errorf("%d days of %d: %+v", len(whole.Buckets), len(truth), whole)
	}
	for i := range ids {
		if from := ids[i]; from.Number%256 == 0 {
			c := read[api.DueCounts](d, "/api/x/scheduled?bucket=1d&after="+url.QueryEscape(from.String()+"//"))
			if c.Messages != int64(n-i) || len(c.Exchanges) != exchanges-i/(n/exchanges) {
				t.Errorf("from %s on: %d messages in %d exchanges, want %d", from, c.Messages, len(c.Exchanges), n-i)
			}
		}
	}
	if c := read[api.DueCounts](d, "/api/x/scheduled?bucket=1d&after=1-0/zzz"); c.Messages != 0 {
		t.Errorf("behind the last virtual host: %d", c.Messages)
	}
}
