package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// diskMachine is a machine with a disk of a test's.
type diskMachine struct {
	disk *disk
	size int64
}

// Read implements Machine.
func (m diskMachine) Read() resource.Usage {
	free, err := m.disk.Faulty.Free()
	if err != nil {
		free = -1
	}
	return resource.Usage{DiskFree: free, DiskSize: m.size}
}

func (diskMachine) GiveBack() {}
func (diskMachine) Aim(int64) {}

// If this fails, a broker with nothing set holds publishers back for ever on a small disk, for its own files take the
// space; or it has files as large as on a large one.
func TestDefaultsOnSmallDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, body = 128 << 20, 128 << 10
		d := newDisk()
		d.Budget(size - size/8) // what the file system has for itself
		log := &bytes.Buffer{}
		e := start(t, d, func(o *Options) {
			o.Journal = journal.Options{}
			o.Machine, o.Log = diskMachine{d, size}, slog.New(slog.NewTextHandler(log, nil))
		})
		defer stop(t, e)
		c := attach(t, e, "")
		c.post(declare("work"), confirms())
		message := string(make([]byte, body))
		published := 0
		for range 6 { // several times what fits beside the limit
			for range 110 {
				c.post(publish("work", message))
				published++
			}
			synctest.Wait()
			drain(c, "work")
			c.post(vhost.Command{Kind: vhost.Ack, Multiple: true})
			time.Sleep(resource.CheckLatest) // of the bubble's time
			synctest.Wait()
			if got := e.Alarms(); got != 0 {
				t.Fatalf("%v after %d MB, all drained:\n%s", got, published*body/1_000_000, log)
			}
		}
		if s := e.writer.stats(); s.SpareBytes > 28<<20 || s.SegmentBytes > 20<<20 {
			t.Errorf("it keeps %d MB of spares, %d of segments", s.SpareBytes/1_000_000, s.SegmentBytes/1_000_000)
		}
		if strings.Contains(log.String(), "alarm set") {
			t.Logf("alarms that came and went:\n%s", log)
		}
	})
}

// If this fails, publishers are held back though files that are ready have space for what they
// send, or the log does not say what takes the disk and what to do.
func TestDiskAlarmSaysWhatTakesTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		m.usage.DiskSize = 1 << 30
		e, log := startOn(t, m, func(o *Options) { o.Journal = journal.Options{SegmentBytes: 1 << 20, ReserveBytes: 2 << 20} })
		defer stop(t, e)
		for more := true; more; {
			more = e.writer.maintenance.prepare(true)
		}
		spare := spareBytes(e.writer.journal, e.writer.tables)()
		if spare < 1<<20 {
			t.Fatalf("only %d bytes are ready beyond the reserve", spare)
		}
		m.uses(1, 0, 50_000_000-spare)
		if got := e.Alarms(); got != 0 {
			t.Errorf("alarm %q, though files that are ready have the room", got)
		}
		m.uses(1, 0, 50_000_000-spare-1)
		if got := e.Alarms(); got != resource.LowDisk {
			t.Fatalf("alarms %q", got)
		}
		for _, want := range []string{
			"disk resource limit alarm set on node rabbit@h: publishers are blocked", "disk_size=1073741824", "reserve=", "others=",
			"advice=\"other files use ", "remove some, or give the broker a larger disk",
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, log)
			}
		}
	})
}

// If this fails, the advice names something else than what takes most.
func TestAdvice(t *testing.T) {
	const gb = 1 << 30
	for want, use := range map[string]DiskUse{
		"":                 {},
		"other files":      {Size: gb, Others: 900, Live: 1},
		"messages use":     {Size: gb, Others: 3, Live: 900, Waiting: 800},
		"no longer needed": {Size: gb, Live: 3, Waiting: 900, Reserve: 5},
		"the reserve":      {Size: gb, Live: 3, Reserve: 900},
	} {
		if got := use.Advice(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%+v: %q", use, got)
		}
	}
}
