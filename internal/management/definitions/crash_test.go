package definitions

import (
	"log/slog"
	"time"

	"encoding/json"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/management/resources"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func TestImportGoesOnAfterACrash(t *testing.T) {
	// If this fails, a crash in the middle of an import leaves half of it, or a password on the disk.
	t.Parallel()
	fs := vfs.NewMem(1)
	e := disk(t, fs)
	m := newImporter(e, quiet(), resources.Passwords{})
	d := &definitions{}
	text := `{"users":[{"name":"u","password":"not for the disk","tags":[]}],"vhosts":[{"name":"v"},{"name":"w"}],
		"queues":[{"vhost":"v","name":"q","durable":true},{"vhost":"w","name":"r","durable":true}],
		"policies":[{"vhost":"w","name":"p","pattern":"a","definition":{"max-length":5}}]}`
	if err := json.Unmarshal([]byte(text), &d.Definitions); err != nil {
		t.Fatal(err)
	}
	m.hashPasswords(d)
	value, err := deflate(d)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := inflate(value); err != nil || *again.Users[0].PasswordHash != *d.Users[0].PasswordHash || again.Users[0].Password != nil {
		t.Errorf("of the definitions %+v remains: %v", again, err)
	}
	one, err := deflate(&definitions{VHost: "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := inflate(one); err != nil || again.VHost != "a/b" {
		t.Errorf("of the virtual host that they are for remains %+v: %v", again, err)
	}
	// What run does first, and the first virtual host; then the end.
	if _, err := e.ChangeAccounts(t.Context(), accounts.Command{Kind: accounts.BeginImport, Name: "here", Value: value},
		accounts.Command{Kind: accounts.PutVHost, VHost: "v"}); err != nil {
		t.Fatal(err)
	}
	if err := m.fill(t.Context(), "v", d); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	e = disk(t, fs)
	ResumeImport(t.Context(), e, quiet())
	if e.Accounts().Import() != nil {
		t.Error("the import has not ended")
	}
	if in, reason := e.Accounts().Authenticate("u", "not for the disk"); !in {
		t.Errorf("u cannot log in: %s", reason)
	}
	queues := 0
	for _, name := range []string{"v", "w"} {
		if err := e.Query(t.Context(), name, func(v vhost.Reader) { queues += v.QueueCount() }); err != nil {
			t.Error(err)
		}
	}
	if queues != 2 {
		t.Errorf("there are %d queues", queues)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestImportUnderPowerCuts(t *testing.T) {
	// If this fails, a power cut at some write leaves a part of an import, or loses one that was answered.
	t.Parallel()
	text := []byte(`{"users":[{"name":"u","password":"p","tags":[]}],"vhosts":[{"name":"v"},{"name":"w"}],
		"permissions":[{"user":"u","vhost":"v","configure":"","write":"","read":""}],
		"policies":[{"vhost":"w","name":"p","pattern":"a","definition":{"max-length":5}}],
		"queues":[{"vhost":"v","name":"q","durable":true},{"vhost":"w","name":"r","durable":true}],
		"bindings":[{"vhost":"w","source":"amq.direct","destination":"r","destination_type":"queue","routing_key":"k"}]}`)
	whole, nothing := 0, 0
	cutOff := func(cut int) (answered error) {
		mem := vfs.NewMem(uint64(cut))
		fs := vfs.NewFaulty(mem)
		e := disk(t, fs)
		d := &definitions{}
		if err := json.Unmarshal(text, &d.Definitions); err != nil {
			t.Fatal(err)
		}
		fs.FailFrom(fs.Calls()+cut, vfs.ErrCrashed)
		answered = newImporter(e, quiet(), resources.Passwords{}).run(t.Context(), d, "here")
		_ = e.Close() // it is told of the power cut, or has nothing to say
		fs.Before(nil)
		mem.Crash()

		e = disk(t, mem)
		ResumeImport(t.Context(), e, quiet())
		v := e.Accounts()
		made := len(v.Users()) + len(v.VHosts()) + len(v.Permissions())
		for _, h := range v.VHosts() {
			if err := e.Query(t.Context(), h.Name, func(x vhost.Reader) {
				made += x.QueueCount() + len(x.Policies(false)) + len(slices.Collect(x.Topology().Bindings()))
			}); err != nil {
				t.Error(err)
			}
		}
		switch {
		case made == 8 && v.Import() == nil:
			whole++
		case made == 0 && v.Import() == nil && answered != nil:
			nothing++
		default:
			t.Errorf("cut off at call %d, answered %v: %d things are there, import %+v", cut, answered, made, v.Import())
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		return answered
	}
	// How many calls of the disk an import takes depends on how many of its changes are written together.
	for try := 0; try < 8 && (whole < 2 || nothing < 2); try++ {
		for cut := 1; cutOff(cut) != nil; cut++ {
		}
	}
	if whole < 2 || nothing < 2 {
		t.Errorf("%d imports were whole after a restart and %d gone: the cuts were not where they should be", whole, nothing)
	}
}

// disk opens a broker on a disk, whose clock stands still.
func disk(t *testing.T, fs vfs.FS) *engine.Engine {
	t.Helper()
	e, err := engine.Open(engine.Options{
		FS: fs, Journal: journal.Options{SegmentBytes: 1 << 20, ReserveBytes: -1}, Machine: machine{}, Log: quiet(),
		Clock: engine.NewTestClock(time.Unix(1_700_000_000, 0)), Defaults: &accounts.Defaults{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// machine is a machine with figures that never change.
type machine struct{}

// Read implements resource.Machine.
func (machine) Read() resource.Usage {
	return resource.Usage{MemoryUsed: 100_000, MemoryMax: 1_000_000, DiskFree: 70_000_000}
}

// GiveBack implements resource.Machine.
func (machine) GiveBack() {}

// Aim implements resource.Machine.
func (machine) Aim(int64) {}
