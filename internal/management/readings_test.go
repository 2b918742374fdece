package management

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

// startOn starts a broker on a disk; stop ends it. Readings are taken by hand.
func startOn(t *testing.T, fs vfs.FS, keeps bool) (d *door, stop func()) {
	t.Helper()
	return startLogging(t, fs, keeps, io.Discard)
}

// startLogging is startOn with the text of the log.
func startLogging(t *testing.T, fs vfs.FS, keeps bool, text io.Writer) (d *door, stop func()) {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	e, err := engine.Open(engine.Options{
		FS: fs, Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Log: quiet, Machine: machine{},
		Clock: engine.NewTestClock(time.Unix(1_700_000_000, 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{
		Engine: e, Secret: testSecret, Node: "rabbit@test", Version: "1", KeepReadings: keeps,
		Log: slog.New(slog.NewTextHandler(text, nil)),
	})
	s.sampler.Stop()
	d = &door{t: t, server: s, engine: e, user: "guest:guest", from: "127.0.0.1:40000"}
	return d, func() {
		s.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReadingsOutliveARestart(t *testing.T) {
	// If this fails, the overview says after a restart that nothing died, beside all that did.
	t.Parallel()
	fs := vfs.NewMem(1)
	d, stop := startOn(t, fs, true)
	before := time.Now()
	recent := func() api.RecentDeaths {
		return read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary").Recent
	}
	since := func(x string) time.Time {
		at, err := time.Parse(time.RFC3339, x)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	d.queueWith("dead", "")
	d.queueWith("work", `"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.server.sampler.Read(time.Now())
	d.reject("work", 3)
	if r := recent(); r.Died["rejected"] != 3 || len(r.Gaps) != 0 ||
		since(r.CountedSince).Before(before.Add(-time.Second)) {
		t.Errorf("at first: %+v", r)
	}
	first := since(recent().CountedSince)
	stop()
	d, stop = startOn(t, fs, true)
	s := read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary")
	if r := s.Recent; r.Died["rejected"] != 3 || !since(r.CountedSince).Equal(first) ||
		len(r.Sources) != 1 || r.Sources[0].Total != 3 ||
		s.Died["rejected"] != 0 || !since(s.CountedSince).After(first) {
		t.Errorf("after a restart: died %v since %v, in %v; the host counts %v since %v",
			r.Died, r.CountedSince, r.Sources, s.Died, s.CountedSince)
	}
	if r := recent(); len(r.Gaps) > 1 || len(r.Gaps) == 1 && r.Gaps[0].To <= r.Gaps[0].From {
		t.Errorf("gaps: %+v", r.Gaps)
	}
	d.reject("work", 2)
	if r := recent(); r.Died["rejected"] != 5 || r.Sources[0].Total != 5 {
		t.Errorf("after more: %+v", r)
	}
	d.server.sampler.Read(time.Now().Add(5 * time.Second))
	d.reject("work", 1)
	q := read[api.Deaths](d, "/api/x/queues/%2F"+"/work"+"/deaths")
	if q.Died["rejected"] != 6 || !since(q.CountedSince).Equal(first) {
		t.Errorf("of the queue: %+v", q)
	}
	d.want(204, "DELETE", "/api/queues/%2F"+"/work", "")
	if r := recent(); r.Died["rejected"] != 6 || r.Others != 6 {
		t.Errorf("after the queue is gone: %+v", r)
	}
	d.want(201, "PUT", "/api/vhosts/fresh", "")
	stop()
	if err := fs.Remove("readings"); err != nil {
		t.Error(err)
	}
	d, stop = startOn(t, fs, true)
	if r := recent(); r.Died["rejected"] != 0 || since(r.CountedSince).Before(first.Add(time.Millisecond)) {
		t.Errorf("without what was kept: %+v", r)
	}
	stop()
	memory := vfs.NewMem(3)
	_, stop = startOn(t, memory, false)
	stop()
	if names, err := memory.List("."); err != nil || slices.Contains(names, "readings") {
		t.Errorf("of a broker that keeps nothing there are %v, %v", names, err)
	}
}

// readFile and writeFile are the whole of a file.
func readFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
}

// recentOf are the deaths of the last hour in the virtual host /.
func recentOf(d *door) api.RecentDeaths {
	return read[api.DeadLettersSummary](d, "/api/x/letters/%2F/summary").Recent
}

func TestAKillLosesReadingsSinceTheLastWrite(t *testing.T) {
	// If this fails, deaths of the minute before a kill are made up, or nobody learns that they are not counted.
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem(1)
		d, stop := startOn(t, fs, true)
		begun := time.Now()
		d.queueWith("work", "")
		d.reject("work", 3)
		time.Sleep(20 * time.Minute)
		written := time.Now()
		stop()
		before := readFile(t, fs, "readings")
		d, stop = startOn(t, fs, true)
		d.reject("work", 2)
		time.Sleep(30 * time.Second)
		d.server.sampler.Read(time.Now())
		stop()
		writeFile(t, fs, "readings", before) // kill -9 would have left this file
		time.Sleep(10 * time.Minute)
		d, stop = startOn(t, fs, true)
		r := recentOf(d)
		lost := api.Gap{From: written.UnixMilli(), To: time.Now().UnixMilli()}
		if r.Died["rejected"] != 3 || r.CountedSince != web.FormatMS(begun.UnixMilli()) ||
			!slices.Equal(r.Gaps, []api.Gap{lost}) {
			t.Errorf("after a kill: %v since %s with gaps %v, want 3 since %v with %v",
				r.Died, r.CountedSince, r.Gaps, begun, lost)
		}
		const query = "?lengths_age=3600&lengths_incr=60&node_stats_age=3600&node_stats_incr=60"
		q := read[api.Queue](d, "/api/queues/%2F/work"+query)
		o, n := read[api.Overview](d, "/api/overview"+query), read[[]api.Node](d, "/api/nodes"+query)[0]
		for _, got := range []api.Readings{q.Readings, o.Readings, n.Readings} {
			if got.CountedSince != r.CountedSince || !slices.Equal(got.Gaps, r.Gaps) {
				t.Errorf("samples are counted since %s with gaps %v", got.CountedSince, got.Gaps)
			}
		}
		for _, s := range q.MessagesReadyDetails.Samples {
			if lost.From < s.Timestamp && s.Timestamp < lost.To {
				t.Errorf("a sample at %v, in the gap", time.UnixMilli(s.Timestamp))
			}
		}
		for i, at := range r.Times {
			if n := r.ByStep["rejected"][i]; n > 0 && at > lost.From+60_000 {
				t.Errorf("%d deaths at %v, in the gap", n, time.UnixMilli(at))
			}
		}
		stop()
	})
}

func TestReadingsThatCannotBeUsed(t *testing.T) {
	// If this fails, a bad file of statistics stops the broker, shows what never was, or is not replaced.
	t.Parallel()
	newer := func(b []byte) []byte {
		b[8] = 2
		body := b[:len(b)-crc32.Size]
		return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	}
	for _, c := range []struct {
		name, logged string
		change       func(b []byte) []byte
	}{
		{"damaged", "damaged", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		{"cut", "damaged", func(b []byte) []byte { return b[:len(b)-1] }},
		{"of a newer version", "unknown format", newer},
		{"too large", "the maximum is", func(b []byte) []byte { return append(b, make([]byte, 5<<20)...) }},
		{"empty", "damaged", func([]byte) []byte { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { cannotBeUsed(t, c.logged, c.change) })
		})
	}
}

// cannotBeUsed changes the file between two runs.
func cannotBeUsed(t *testing.T, logged string, change func(b []byte) []byte) {
	fs := vfs.NewMem(1)
	d, stop := startOn(t, fs, true)
	d.queueWith("work", "")
	d.reject("work", 3)
	time.Sleep(time.Minute)
	stop()
	writeFile(t, fs, "readings", change(readFile(t, fs, "readings")))
	var text strings.Builder
	began := time.Now()
	d, stop = startLogging(t, fs, true, &text)
	r := recentOf(d)
	if r.Died["rejected"] != 0 || len(r.Gaps) > 0 || r.CountedSince != web.FormatMS(began.UnixMilli()) {
		t.Errorf("died %v since %s, gaps %v", r.Died, r.CountedSince, r.Gaps)
	}
	d.reject("work", 1)
	stop()
	if !strings.Contains(text.String(), logged) {
		t.Errorf("the log has %q, not %q", text.String(), logged)
	}
	d, stop = startOn(t, fs, true)
	if r := recentOf(d); r.Died["rejected"] != 1 || r.CountedSince != web.FormatMS(began.UnixMilli()) {
		t.Errorf("after one more start: %v since %s", r.Died, r.CountedSince)
	}
	stop()
}
