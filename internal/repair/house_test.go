package repair_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/repair"
)

const (
	workCount   = 600 // in queue work of each virtual host
	deadCount   = 20  // dead letters in queue dead
	heldCount   = 5   // held in queue strict
	lostCount   = 5   // lost letters
	largeCount  = 6   // in queue large, of largeBytes
	largeBytes  = 10_000
	bodyBytes   = 300
	otherVHost  = "other"
	segmentSize = 64 << 10
)

// label is how a message begins.
func label(vhost, name string, n int) string { return fmt.Sprintf("%s|%s-%05d", vhost, name, n) }

// body is a message that its beginning tells.
func body(vhost, name string, n int) []byte {
	b := []byte(label(vhost, name, n) + " ")
	size := bodyBytes
	if name == "large" {
		size = largeBytes
	}
	for len(b) < size {
		b = append(b, byte('a'+(n+len(b))%26))
	}
	return b
}

// start starts a broker on a data directory; closed with the test, if not before.
func start(t *testing.T, dir string) *bartleby.Broker {
	t.Helper()
	b, err := try(dir)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	return b
}

func try(dir string) (*bartleby.Broker, error) {
	return bartleby.Start(bartleby.Config{
		Data: dir, AMQP: "127.0.0.1:0", Management: "127.0.0.1:0", SegmentBytes: segmentSize, ReserveBytes: -1,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// dial opens a channel in a virtual host.
func dial(b *bartleby.Broker, vhost string) (*amqp.Channel, func(), error) {
	c, err := amqp.DialConfig(b.URL(), amqp.Config{Vhost: vhost, Heartbeat: time.Hour})
	if err != nil {
		return nil, nil, err
	}
	ch, err := c.Channel()
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return ch, func() { c.Close() }, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends a request to the management API.
func ask(t *testing.T, b *bartleby.Broker, method, path, text string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+b.ManagementAddr().String()+path, strings.NewReader(text))
	must(t, err)
	r.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		p, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s %s: %s: %s", method, path, answer.Status, p)
	}
}

// images are data directories with one of everything: as a kill leaves them, and a stop.
var images struct {
	once            sync.Once
	killed, stopped string
}

// image returns a copy of one of them.
func image(t *testing.T, killed bool) string {
	t.Helper()
	images.once.Do(func() {
		root, err := os.MkdirTemp("", "salvage")
		must(t, err)
		images.killed, images.stopped = filepath.Join(root, "killed"), filepath.Join(root, "stopped")
		fill(t)
	})
	if killed {
		return duplicate(t, images.killed)
	}
	return duplicate(t, images.stopped)
}

func duplicate(t *testing.T, from string) string {
	t.Helper()
	for {
		dir := filepath.Join(t.TempDir(), "data")
		err := os.CopyFS(dir, os.DirFS(from))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the broker has renamed a file meanwhile: it writes a manifest now and then
		}
		must(t, err)
		return dir
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if images.killed != "" {
		os.RemoveAll(filepath.Dir(images.killed))
	}
	os.Exit(code)
}

// fill makes the images.
func fill(t *testing.T) {
	t.Helper()
	b, err := try(images.stopped)
	must(t, err)
	ask(t, b, "PUT", "/api/vhosts/"+otherVHost, "{}")
	ask(t, b, "PUT", "/api/permissions/"+otherVHost+"/guest", `{"configure":".*","write":".*","read":".*"}`)
	for _, vhost := range []string{"/", otherVHost} {
		ch, closeIt, err := dial(b, vhost)
		must(t, err)
		fillVHost(t, ch, vhost)
		closeIt()
	}
	must(t, os.CopyFS(images.killed, os.DirFS(images.stopped))) // all is confirmed, nothing moves
	must(t, b.Close(context.Background()))
}

func fillVHost(t *testing.T, ch *amqp.Channel, vhost string) {
	t.Helper()
	must(t, ch.Confirm(false))
	must(t, ch.ExchangeDeclare("events", "topic", true, false, false, false, nil))
	declare := func(name string, args amqp.Table) {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		must(t, err)
	}
	declare("work", nil)
	declare("large", nil)
	declare("ranked", amqp.Table{"x-max-priority": int32(3)})
	declare("dead", nil)
	declare("doomed", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
	declare("strict", amqp.Table{"x-dead-letter-exchange": "nowhere", "x-dead-letter-strategy": "at-least-once"})
	declare("careless", amqp.Table{"x-dead-letter-exchange": "nowhere"})
	must(t, ch.QueueBind("work", "work.#", "events", false, nil))
	var waiting []*amqp.DeferredConfirmation
	publish := func(exchange, key, name string, n int) {
		c, err := ch.PublishWithDeferredConfirm(exchange, key, true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, Priority: uint8(n % 4), Body: body(vhost, name, n),
		})
		must(t, err)
		waiting = append(waiting, c)
		if len(waiting) >= 25 { // several batches
			settle(t, &waiting)
		}
	}
	for n := range workCount {
		publish("events", "work.any", "work", n)
		if n%30 == 0 {
			publish("", "ranked", "ranked", n/30)
			publish("", "doomed", "doomed", n/30)
		}
		if n%100 == 0 {
			publish("", "large", "large", n/100)
		}
		if n%120 == 0 {
			publish("", "strict", "strict", n/120)
			publish("", "careless", "careless", n/120)
		}
	}
	settle(t, &waiting)
	for queue, count := range map[string]int{"doomed": deadCount, "strict": heldCount, "careless": lostCount} {
		for range count {
			d, ok, err := ch.Get(queue, false)
			if err != nil || !ok {
				t.Fatalf("get from %s: %t, %v", queue, ok, err)
			}
			must(t, d.Reject(false))
		}
	}
	publish("events", "work.last", "work", workCount) // behind the rejections: they are safe, too
	settle(t, &waiting)
}

func settle(t *testing.T, waiting *[]*amqp.DeferredConfirmation) {
	t.Helper()
	for _, c := range *waiting {
		if !c.Wait() {
			t.Fatal("not confirmed")
		}
	}
	*waiting = nil
}

// copied is a message where a client finds it.
type copied struct {
	priority uint8
	number   uint64
	body     string
}

// expected lists what the queues of a virtual host hold that can be read by a client, in the order in which he gets it.
func expected(vhost string) map[string][]copied {
	all := map[string][]copied{}
	add := func(queue string, priority int, name string, count int) {
		number := uint64(0)
		for n := range count {
			if queue != "ranked" || n%4 == priority {
				all[queue] = append(all[queue], copied{uint8(priority), number, string(body(vhost, name, n))})
				number++
			}
		}
	}
	add("work", 0, "work", workCount+1)
	add("large", 0, "large", largeCount)
	add("dead", 0, "doomed", deadCount)
	for priority := 3; priority >= 0; priority-- {
		add("ranked", priority, "ranked", workCount/30)
	}
	all["doomed"] = nil
	return all
}

// drain reads what the queues of a virtual host hold, in order. Dead letters must say how they died, but for those
// named.
func drain(t *testing.T, b *bartleby.Broker, vhost string, withoutDeath ...string) map[string][]string {
	t.Helper()
	ch, closeIt, err := dial(b, vhost)
	if err != nil {
		t.Fatalf("virtual host %s: %v", vhost, err)
	}
	defer closeIt()
	all := map[string][]string{}
	for queue := range expected(vhost) {
		for {
			d, ok, err := ch.Get(queue, true)
			must(t, err)
			if !ok {
				break
			}
			all[queue] = append(all[queue], string(d.Body))
			name, _, _ := strings.Cut(string(d.Body), " ")
			if _, died := d.Headers["x-death"]; queue == "dead" && died == slices.Contains(withoutDeath, name) {
				t.Errorf("%s: x-death is there: %t", name, died)
			}
		}
	}
	return all
}

// compare finds what is missing of what was expected; what is not listed as lost must be there, once and in order. It
// returns how many messages are lost.
func compare(t *testing.T, vhost string, got map[string][]string, lost []repair.Lost) (n int) {
	t.Helper()
	for queue, all := range expected(vhost) {
		var want []string
		for _, c := range all {
			if isLost(queue, c, lost) {
				n++
			} else {
				want = append(want, c.body)
			}
		}
		if !slices.Equal(got[queue], want) {
			t.Errorf("virtual host %s, queue %s: %d messages, want %d; first difference: %s", vhost, queue, len(got[queue]), len(want),
				firstDifference(got[queue], want))
		}
	}
	return n
}

func isLost(queue string, c copied, lost []repair.Lost) bool {
	return slices.ContainsFunc(lost, func(l repair.Lost) bool {
		return l.Kind != "history" && l.Queue == queue && l.Priority == c.priority && l.Number <= c.number && c.number < l.Number+l.Count
	})
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		var a, b string
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Sprintf("at %d: %.12q, want %.12q", i, a, b)
		}
	}
	return "none"
}

// find returns the file of a data directory's journal that has some bytes, and where.
func find(t *testing.T, dir string, what []byte) (name string, off int64) {
	t.Helper()
	first := findAll(t, dir, what)[0]
	return first.file, first.offset
}

// inFile is a place in a file of the data directory.
type inFile struct {
	file   string
	offset int64
}

// findAll returns all places of some bytes in segments.
func findAll(t *testing.T, dir string, what []byte) (all []inFile) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*.segment"))
	must(t, err)
	for _, f := range files {
		p, err := os.ReadFile(f)
		must(t, err)
		for from := 0; ; {
			i := bytes.Index(p[from:], what)
			if i < 0 {
				break
			}
			all = append(all, inFile{"journal/" + filepath.Base(f), int64(from + i)})
			from += i + 1
		}
	}
	if all == nil {
		t.Fatalf("%.20q is in no segment", what)
	}
	return all
}

// spoil inverts bits of a file.
func spoil(t *testing.T, dir, name string, off int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	var p [1]byte
	_, err = f.ReadAt(p[:], off)
	must(t, err)
	p[0] ^= 0x10
	_, err = f.WriteAt(p[:], off)
	must(t, err)
}
