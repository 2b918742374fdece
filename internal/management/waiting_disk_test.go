package management

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// If this fails, statistics hang while the log waits for space on the disk, do not say so, or what has to wait is not
// refused with the reason.
func TestStatisticsWhileTheDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, quiet := vfs.NewFaulty(vfs.NewMem(1)), slog.New(slog.NewTextHandler(io.Discard, nil))
		e, err := engine.Open(engine.Options{
			FS: disk, Journal: journal.Options{SegmentBytes: 64 << 10, ReserveBytes: -1}, Log: quiet, Machine: machine{},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{Engine: e, Secret: testSecret, Node: "rabbit@test", Version: "1.2.3", Log: quiet})
		defer func() {
			disk.Budget(-1)
			s.Close()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		d := &door{t: t, server: s, engine: e, user: "guest:guest", from: "127.0.0.1:40000"}
		d.want(201, "PUT", "/api/queues/%2f/q", `{"durable":true}`)
		if got := read[api.Storage](d, "/api/x/storage"); got.State != "running" || got.StateSince != nil {
			t.Errorf("before: %q %v", got.State, got.StateSince)
		}
		synctest.Wait()
		disk.Budget(0)
		var batch []vhost.Command
		for range 40 {
			batch = append(batch, vhost.Command{
				Kind: vhost.Publish, Key: []byte("q"), Body: make([]byte, 8<<10),
				Properties: amqp.AppendProperties(nil, &amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: 2}),
			})
		}
		published := make(chan error, 1)
		go func() {
			_, err := e.Do(context.Background(), "/", authz.Broker(), batch...)
			published <- err
		}()
		synctest.Wait()
		if e.Waiting() == nil {
			t.Fatal("the log does not wait for room")
		}
		for _, path := range []string{"/api/queues", "/api/queues/%2f/q", "/api/nodes", "/api/overview", "/api/vhosts", "/api/x/storage", "/metrics"} {
			began := time.Now()
			answer := d.want(200, "GET", path, "")
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s took %v", path, took)
			}
			if got := answer.Header().Get("X-Bartleby-State"); path != "/metrics" && got != "waiting for disk space" {
				t.Errorf("%s does not say that it waits: %q", path, got)
			}
		}
		if got := read[api.Storage](d, "/api/x/storage"); got.State != "waiting for disk space" || got.StateSince == nil || !strings.Contains(got.StateReason, "no space") {
			t.Errorf("the storage: %q %q %v", got.State, got.StateReason, got.StateSince)
		}
		if got := read[[]api.Node](d, "/api/nodes"); got[0].StorageState != "waiting for disk space" || !got[0].DiskFreeAlarm {
			t.Errorf("the node: %+v", got[0])
		}
		scrapePage(d, "/metrics").want(map[string]float64{"bartleby_storage_waiting": 1, `bartleby_alarm{resource="journal"}`: 1})
		d.refused(503, "service_unavailable", "waits for disk space", "PUT", "/api/queues/%2f/other", `{"durable":true}`)
		d.refused(503, "service_unavailable", "waits for disk space", "PUT", "/api/users/u", `{"password":"p","tags":""}`)
		disk.Budget(-1)
		if err := <-published; err != nil {
			t.Error(err)
		}
		scrapePage(d, "/metrics").want(map[string]float64{"bartleby_storage_waiting": 0})
	})
}

func TestWhatADiskHasNoRoomForIsAskedAgain(t *testing.T) {
	// If this fails, tools take a full disk for a mistake in what they asked, and do not ask again.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/there", `{"durable":true}`)
	room := func(is bool) {
		if _, err := d.engine.Do(t.Context(), "/", authz.Broker(),
			vhost.Command{Kind: vhost.SetSpace, Space: is, Memory: true}); err != nil {
			t.Fatal(err)
		}
	}
	room(false)
	for path, body := range map[string]string{
		"/api/queues/%2F/q": `{"durable":true}`, "/api/exchanges/%2F/x": `{"type":"fanout","durable":true}`,
	} {
		d.refused(503, "service_unavailable", "the disk is full: no space", "PUT", path, body)
	}
	d.refused(503, "service_unavailable", "the disk is full: no space", "POST", "/api/bindings/%2F/e/amq.fanout/q/there", "{}")
	const definitions = `{"queues":[{"name":"q","vhost":"/","durable":true,"arguments":{}}]}`
	for _, path := range []string{"/api/definitions", "/api/definitions/%2F"} {
		d.refused(503, "service_unavailable", "repeat it: virtual host '/': ", "POST", path, definitions)
		d.refused(503, "service_unavailable", "the disk is full: no space", "POST", path, definitions)
	}
	d.want(204, "PUT", "/api/queues/%2F/there", `{"durable":true}`) // what is there takes no more
	d.want(204, "DELETE", "/api/queues/%2F/there", "")
	room(true)
	d.want(204, "POST", "/api/definitions", definitions)
	d.want(204, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
}
