package management

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/vfs"
)

func TestBackupIntoADirectory(t *testing.T) {
	// If this fails, an operator has no backup, one that no broker starts from, or is not told why.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/queues/%2F/kept", `{"durable":true}`)
	const path = "/api/x/backup"
	place := filepath.Join(t.TempDir(), "monday")
	text, err := json.Marshal(api.PostBackup{Path: place})
	if err != nil {
		t.Fatal(err)
	}
	d.want(201, "PUT", "/api/users/watcher", `{"password":"w","tags":"monitoring"}`)
	for _, method := range []string{"GET", "POST"} {
		if w := d.as("watcher:w").send(method, path, string(text)); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: who only watches may have everything: %d", method, w.Code)
		}
	}
	var b api.Backup
	if err := json.Unmarshal(d.want(200, "POST", path, string(text)).Body.Bytes(), &b); err != nil || b.To != place || b.Bytes == 0 || b.Files == 0 ||
		b.At != "2023-11-14T22:13:20.000Z" || b.Damage == nil {
		t.Errorf("%+v, %v", b, err)
	}
	e, err := engine.Open(engine.Options{FS: vfs.Dir(place), Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Log: d.server.options.Log})
	if err != nil {
		t.Fatal(err)
	}
	from := &door{t: t, server: New(Options{Engine: e}), engine: e, user: "watcher:w", from: d.from}
	if q := read[[]api.Queue](from.as("guest:guest"), "/api/queues"); len(q) != 1 || q[0].Name != "kept" {
		t.Errorf("what started from the backup has %+v", q)
	}
	from.want(200, "GET", "/api/overview", "")
	from.server.Close()
	if err := e.Close(); err != nil {
		t.Error(err)
	}

	d.refused(400, "bad_request", "not empty", "POST", path, string(text))
	d.refused(400, "bad_request", "not an absolute path", "POST", path, `{"path":"there"}`)
	d.refused(400, "bad_request", "key_missing,path", "POST", path, `{}`)
	d.refused(400, "bad_request", "unknown field", "POST", path, `{"directory":"/x"}`)
	d.refused(400, "bad_request", "invalid directory", "POST", path, `{"path":"/dev/null/x"}`)
}

func TestBackupAsTar(t *testing.T) {
	// If this fails, a backup from afar is not there, is taken for complete when it is not, or holds up everything
	// else.
	t.Parallel()
	d := open(t)
	s := httptest.NewServer(d.server)
	defer s.Close()
	c := &api.Client{Base: s.URL, Token: testSecret}
	var out bytes.Buffer
	trailer, err := c.Copy(t.Context(), &out, "x", "backup")
	if err != nil {
		t.Fatal(err)
	}
	var b api.Backup
	if err := json.Unmarshal([]byte(trailer.Get(api.BackupTrailer)), &b); err != nil || b.To != "tar" || b.Bytes == 0 {
		t.Errorf("%+v, %v in %v", b, err, trailer)
	}
	var names []string
	for files := tar.NewReader(&out); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if len(names) != b.Files || strings.Contains(strings.Join(names, " "), "manifest.backup") || names[len(names)-1] != "journal/manifest" {
		t.Errorf("%d files: %q", b.Files, names)
	}
	if w := d.send("HEAD", "/api/x/backup", ""); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d", w.Code)
	}

	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	for range 40 { // more than a connection takes by itself
		d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
			`{"properties":{"delivery_mode":2},"routing_key":"q","payload":"`+strings.Repeat("x", 500_000)+`","payload_encoding":"string"}`)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = c.Copy(ctx, writerFunc(func(p []byte) (int, error) {
		var refused *api.Error
		_, err := c.Copy(t.Context(), io.Discard, "x", "backup")
		if ctx.Err() == nil && (!errors.As(err, &refused) || refused.Status != http.StatusConflict) {
			t.Errorf("a second backup: %v", err)
		}
		cancel()
		return len(p), nil
	}), "x", "backup")
	if err == nil {
		t.Error("half of a backup is taken for a whole one")
	}

	d.engine.EndBackups()
	if _, err := c.Copy(t.Context(), io.Discard, "x", "backup"); err == nil || !strings.Contains(err.Error(), "the broker is stopping") {
		t.Errorf("a broker that stops: %v", err)
	}
}

type writerFunc func(p []byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestStorage(t *testing.T) {
	// If this fails, nobody sees that the disk fills up, is slow, or that there has been no backup for a month.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/vhosts/v", "")
	d.want(204, "PUT", "/api/x/options/v", `{"sync":"never"}`)
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"properties":{"delivery_mode":2},"routing_key":"q","payload":"`+strings.Repeat("x", 5000)+`","payload_encoding":"string"}`)
	place := filepath.Join(t.TempDir(), "b")
	d.want(200, "POST", "/api/x/backup", `{"path":"`+place+`"}`)
	d.want(400, "POST", "/api/x/backup", `{"path":"`+place+`"}`)

	s := read[api.Storage](d, "/api/x/storage")
	if s.Sync != "always" || s.Segments.Count != 1 || s.Segments.Bytes != 1<<20 || s.Live < 5000 || s.LiveShare <= 0 || s.Written["groups"] < 5000 ||
		s.Syncs.Count == 0 || len(s.Syncs.Buckets) == 0 || s.Checkpoints.LastAt != nil {
		t.Errorf("%+v", s)
	}
	if len(s.VHosts) != 2 || s.VHosts[0].Name != "/" || s.VHosts[0].Hot != 1 || s.VHosts[0].Cold != 0 || s.VHosts[0].Sync != "always" ||
		s.VHosts[1].Name != "v" || s.VHosts[1].Sync != "never" || s.VHosts[1].Down != "" {
		t.Errorf("%+v", s.VHosts)
	}
	if b := s.Backups; b.Made != 1 || b.Failed != 0 || b.Last == nil || b.Last.To != place || b.LastFailure != "" {
		t.Errorf("%+v", b)
	}
	text := d.want(200, "GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`bartleby_segments 1`, `bartleby_storage_bytes{kind="segments"} 1048576`, `bartleby_storage_bytes{kind="spilled"} 0`,
		`bartleby_storage_live_bytes 5\d{3}`, `bartleby_storage_written_bytes_total{kind="groups"} \d+`, `bartleby_storage_written_bytes_total{kind="rewriting"} 0`,
		`bartleby_storage_fsync_seconds_bucket{le="0.001"} \d+`, `bartleby_storage_fsync_seconds_bucket{le="\+Inf"} [1-9]\d*`,
		`bartleby_storage_fsync_seconds_count [1-9]\d*`, `bartleby_checkpoints_total{outcome="done"} 0`, `bartleby_checkpoint_last_timestamp_seconds 0`,
		`bartleby_messages_hot{vhost="/"} 1`, `bartleby_messages_cold{vhost="/"} 0`, `bartleby_messages_put_off{vhost="/"} 0`, `bartleby_vhost_down{vhost="v"} 0`, `bartleby_vhost_faults_total{vhost="/"} 0`,
		`bartleby_vhost_sync_info{vhost="v",sync="never"} 1`, `bartleby_backups_total{outcome="done"} 1`, `bartleby_backups_total{outcome="failed"} 0`,
		`bartleby_backup_last_timestamp_seconds 1700000000`, `bartleby_backup_last_bytes [1-9]\d*`, `bartleby_backup_running 0`,
	} {
		if !slices.ContainsFunc(strings.Split(text, "\n"), regexp.MustCompile("^"+want+"$").MatchString) {
			t.Errorf("no line %s in\n%s", want, text)
		}
	}
}

func TestDamageIsSeen(t *testing.T) {
	// If this fails, a virtual host stops again and again, and no check, figure or metric says so.
	t.Parallel()
	fs := vfs.NewMem(1)
	start := func() *door {
		e, err := engine.Open(engine.Options{FS: fs, Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return &door{t: t, server: New(Options{Engine: e, Secret: testSecret, Log: slog.New(slog.DiscardHandler)}), engine: e, user: "guest:guest", from: "127.0.0.1:40000"}
	}
	end := func(d *door) {
		d.server.Close()
		if err := d.engine.Close(); err != nil {
			t.Error(err)
		}
	}
	d := start()
	d.want(201, "PUT", "/api/queues/%2F/q", `{"durable":true}`)
	d.want(200, "POST", "/api/exchanges/%2F/amq.default/publish",
		`{"properties":{"delivery_mode":2},"routing_key":"q","payload":"what the disk loses","payload_encoding":"string"}`)
	d.want(200, "GET", "/api/x/health/checks/storage", "")
	end(d)
	f, err := fs.Open("journal/00000001.segment")
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	at := bytes.Index(all, []byte("what the disk loses"))
	if err != nil || at < 0 {
		t.Fatal(err, at)
	}
	if _, err := f.WriteAt([]byte("?"), int64(at)); err != nil {
		t.Fatal(err)
	}
	d = start()
	defer end(d)
	d.want(200, "GET", "/api/x/health/checks/storage", "")
	w := d.send("POST", "/api/queues/%2F/q/get", `{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}`)
	if w.Code != 500 || !strings.Contains(w.Body.String(), "bartleby repair DATA") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for d.engine.Down("/") != nil { // until it is opened again
		runtime.Gosched()
	}
	d.want(200, "GET", "/api/health/checks/virtual-hosts", "")
	if text := d.want(503, "GET", "/api/x/health/checks/storage", "").Body.String(); !strings.Contains(text, "batch 2 is damaged") ||
		!strings.Contains(text, "bartleby check DATA") || !strings.Contains(text, `"virtual-hosts":["/"]`) {
		t.Error(text)
	}
	if v := read[api.Storage](d, "/api/x/storage").VHosts; len(v) != 1 || v[0].Stops != 1 || v[0].StopAt == nil || !strings.Contains(v[0].StopText, "damaged") {
		t.Errorf("%+v", v)
	}
	if text := d.want(200, "GET", "/metrics", "").Body.String(); !strings.Contains(text, "bartleby_vhost_faults_total{vhost=\"/\"} 1\n") {
		t.Error(text)
	}
}
