package management

import (
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// stuckDisk is a disk whose syncs can be held up.
type stuckDisk struct {
	vfs.FS
	hold atomic.Pointer[chan struct{}] // syncs wait until it is closed
}

type stuckFile struct {
	vfs.File
	disk *stuckDisk
}

func (d *stuckDisk) Create(name string) (vfs.File, error) { return d.file(d.FS.Create(name)) }
func (d *stuckDisk) Open(name string) (vfs.File, error)   { return d.file(d.FS.Open(name)) }

func (d *stuckDisk) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &stuckFile{f, d}, nil
}

func (f *stuckFile) Sync() error {
	if hold := f.disk.hold.Load(); hold != nil {
		<-*hold
	}
	return f.File.Sync()
}

// TestMetricsOfStuckDisk says that nothing can be seen of a broker whose disk hangs, or that its totals seem to begin
// anew.
func TestMetricsOfStuckDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &stuckDisk{FS: vfs.NewMem(1)}
		quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
		e, err := engine.Open(engine.Options{
			FS: disk, Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Log: quiet, Machine: machine{},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{Engine: e, Secret: testSecret, Node: "rabbit@test", Version: "1.2.3", Log: quiet})
		defer func() {
			s.Close()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		d := &door{t: t, server: s, engine: e, user: "guest:guest", from: "127.0.0.1:40000"}
		publish := vhost.Command{
			Kind: vhost.Publish, Key: []byte("q"), Body: []byte("x"), Properties: amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: 2}),
		}
		declare := vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{Name: "q", Durable: true}}
		if _, err := e.Do(t.Context(), "/", authz.Broker(), declare, publish); err != nil {
			t.Fatal(err)
		}
		const received = `rabbitmq_global_messages_received_total{protocol="amqp091"}`
		scrapePage(d, "/metrics").want(map[string]float64{received: 1, "rabbitmq_queues": 1})
		hold := make(chan struct{})
		disk.hold.Store(&hold)
		published := make(chan error)
		go func() {
			_, err := e.Do(t.Context(), "/", authz.Broker(), publish)
			published <- err
		}()
		synctest.Wait()
		began := time.Now()
		p := scrapePage(d, "/metrics")
		if took := time.Since(began); took > 2*stats.GatherWithin {
			t.Errorf("the page took %v", took)
		}
		p.want(map[string]float64{received: 1, "rabbitmq_queues": 1, "rabbitmq_alarms_memory_used_watermark": 0})
		disk.hold.Store(nil)
		close(hold)
		if err := <-published; err != nil {
			t.Error(err)
		}
		scrapePage(d, "/metrics").want(map[string]float64{received: 2})
	})
}
