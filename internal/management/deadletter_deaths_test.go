package management

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestRecentDeaths(t *testing.T) {
	// If this fails, the overview tells the deaths of another hour, or blames the wrong queues, or begins empty.
	t.Parallel()
	d := open(t)
	start := time.Now().Add(time.Hour).Truncate(time.Hour)
	after := func(by time.Duration) { d.server.sampler.Read(start.Add(by)) }
	d.queueWith("dead", "")
	for _, name := range []string{"a", "b"} {
		d.queueWith(name, `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	}
	d.queueWith("plain", "")
	d.queueWith("short", `"x-max-length":1,"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	after(0)
	d.reject("a", 5)
	after(5 * time.Second)
	after(2 * time.Hour)
	d.reject("a", 2)
	after(150 * time.Minute)
	d.reject("b", 3)
	d.reject("plain", 1)
	d.publish("amq.default", "short", "x")
	d.publish("amq.default", "short", "y")
	d.queueWith("late", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.reject("late", 1)
	after(179*time.Minute + 30*time.Second)
	d.reject("b", 1) // since the last reading

	get := func(of string) api.DeadLettersSummary {
		t.Helper()
		return read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary"+of)
	}
	hour := get("").Recent
	if hour.Range != "1h" || hour.Died["rejected"] != 8 || hour.Died["maxlen"] != 1 || hour.Died["expired"] != 0 || hour.NoDLX != 1 || hour.Arrived != 8 || hour.Others != 0 {
		t.Errorf("of an hour %+v", hour)
	}
	var sources []string
	for _, s := range hour.Sources {
		sources = append(sources, fmt.Sprintf("%s %d %d", s.Queue, s.Total, s.Died["rejected"]))
	}
	if got, want := strings.Join(sources, ", "), "b 4 4, a 2 2, late 1 1, plain 1 1, short 1 0"; got != want {
		t.Errorf("sources %s, want %s", got, want)
	}
	if n := len(hour.Times); n != len(hour.ByStep["rejected"]) || n != 61 || hour.StepSec != 60 || hour.Times[n-1] != start.Add(179*time.Minute+30*time.Second).UnixMilli() {
		t.Errorf("times %v, %v", hour.Times, hour.ByStep)
	}
	at := func(d api.Deaths, by time.Duration) uint64 {
		i := slices.Index(d.Times, start.Add(by).UnixMilli())
		if i < 0 {
			t.Fatalf("no step ends after %v: %v", by, d.Times)
		}
		return d.ByStep["rejected"][i]
	}
	if got := at(hour.Deaths, 150*time.Minute); got != 2 {
		t.Errorf("in the step of the two: %d in %v", got, hour.ByStep)
	}
	day := get("?range=24h").Recent
	if day.Died["rejected"] != 13 || day.StepSec != 1800 || at(day.Deaths, 30*time.Minute) != 5 || day.Sources[0].Queue != "a" || day.Sources[0].Total != 7 {
		t.Errorf("of a day %+v", day)
	}
	if m := get("?range=1m").Recent; m.Died["rejected"] != 6 || len(m.Times) != 12 {
		t.Errorf("of a minute %+v", m)
	}
	if all := read[[]api.DeadLettersSummary](d, "/api/x/letters?range=8h"); all[0].Recent.Range != "8h" || all[0].Recent.Died["rejected"] != 13 {
		t.Errorf("of all %+v", all)
	}

	one := read[api.Deaths](d, "/api/x/queues/%2F/b/deaths?range=10m")
	if one.Died["rejected"] != 4 || one.Arrived != 0 || one.ByStep["rejected"][len(one.ByStep["rejected"])-1] != 4 {
		t.Errorf("of a queue %+v", one)
	}
	if to := read[api.Deaths](d, "/api/x/queues/%2F/dead/deaths"); to.Arrived != 8 || to.Died["rejected"] != 0 {
		t.Errorf("of the queue they came to %+v", to)
	}
	d.want(204, "DELETE", "/api/queues/%2F/late", "")
	if gone := get("").Recent; gone.Others != 1 || gone.Died["rejected"] != 8 {
		t.Errorf("after a queue is gone %+v", gone)
	}
	d.want(204, "DELETE", "/api/reset", "")
	after(180 * time.Minute)
	d.reject("b", 1)
	after(181 * time.Minute)
	if anew := get("").Recent; anew.Died["rejected"] != 1 || len(anew.Sources) != 1 || anew.Sources[0].Total != 1 {
		t.Errorf("after a reset %+v", anew)
	}

	for _, path := range []string{"letters", "letters/%2F/summary", "queues/%2F/b/deaths"} {
		for of, reason := range map[string]string{
			"2h": "1m, 10m, 1h, 8h or 24h, not '2h'", "60": "write 60s, or 60ms", "-1m": "'-1m' is not a duration",
		} {
			d.refused(400, "bad_request", reason, "GET", "/api/x/"+path+"?range="+of, "")
		}
	}
	d.want(404, "GET", "/api/x/queues/%2F/none/deaths", "")
	d.want(404, "GET", "/api/x/queues/none/b/deaths", "")
	d.want(201, "PUT", "/api/users/m", `{"password":"m","tags":"management"}`)
	d.as("m:m").want(404, "GET", "/api/x/queues/%2F/b/deaths", "")
}

func TestNothingDiedLatelyAfterAReset(t *testing.T) {
	// If this fails, all that ever died is said to have died in the last minute when the statistics were reset.
	t.Parallel()
	d := open(t)
	d.queueWith("dead", "")
	d.queueWith("q", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.reject("q", 5)
	now := time.Now().Add(time.Hour)
	d.server.sampler.Read(now)
	count := func() (died, arrived uint64, sources int) {
		t.Helper()
		s := read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary?range=1m").Recent
		of := read[api.Deaths](d, "/api/x/queues/%2F/dead/deaths?range=1m")
		return s.Died["rejected"] + s.Others, s.Arrived + of.Arrived, len(s.Sources)
	}
	d.want(204, "DELETE", "/api/reset", "")
	if died, arrived, sources := count(); died != 0 || arrived != 0 || sources != 0 {
		t.Errorf("right after the reset %d died, of %d queues, and %d dead letters came", died, sources, arrived)
	}
	d.server.sampler.Read(now.Add(5 * time.Second))
	d.reject("q", 2)
	if died, arrived, sources := count(); died != 2 || arrived != 4 || sources != 1 {
		t.Errorf("after a reading %d died, of %d queues, and %d dead letters came", died, sources, arrived)
	}
}
