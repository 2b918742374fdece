//go:build linux

package crashtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var (
	trials = flag.Int("trials", 0, "how many random trials of full disks; zero: a few")
	preset = flag.String("preset", "", "the same trial again and again: rejects, consumed or defaults; empty: random ones")
)

const (
	// trialsUsual is the short form: small ones, of half the length.
	trialsUsual = 2
	// The bounds of what has to go on while the disk is full. A machine may have other work: what answers at all does
	// so in a fraction of this.
	answerWithin = 10 * time.Second // AMQP: a new connection, a passive declaration, an ack that is proven
	pageWithin   = 5 * time.Second  // a page of statistics
	stopWithin   = 12 * time.Second // SIGTERM: 10 s are promised
	startWithin  = 30 * time.Second
	goesOnWithin = 30 * time.Second // publishing, after all was drained: alarms look now and then
	diskLimit    = 50_000_000       // default of the disk alarm

	workQueue, deadQueue = "work", "dead"
)

// diskRun is a trial under way.
type diskRun struct {
	diskTrial
	t        *testing.T
	disk     string
	stranger *stranger
	books    *diskBooks
	broker   *broker
	written  atomic.Int64 // bytes of bodies
	storage  []byte       // what a broker said that is wedged

	mu struct {
		sync.Mutex
		wedged  []string
		doubled []string
		slowest map[string]time.Duration
		zeros   map[string]float64 // written bytes by kind, of this life
	}
}

// wedge notes that something did not go on.
func (r *diskRun) wedge(format string, about ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.wedged) < 20 {
		r.mu.wedged = append(r.mu.wedged, fmt.Sprintf(format, about...))
	}
}

func (r *diskRun) isWedged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.wedged) > 0
}

// took notes how long something took, and whether that was too long.
func (r *diskRun) took(what string, began time.Time, within time.Duration) {
	d := time.Since(began)
	r.mu.Lock()
	r.mu.slowest[what] = max(r.mu.slowest[what], d)
	r.mu.Unlock()
	if d > within {
		r.wedge("%s took %v", what, d.Round(time.Millisecond))
	}
}

// gone reports whether the process has ended, so that errors mean nothing.
func (r *diskRun) gone() bool {
	select {
	case <-r.broker.exited:
		return true
	default:
		return false
	}
}

// serve starts the broker, whatever space there is.
func (r *diskRun) serve() bool {
	began := time.Now()
	r.broker = launch(r.t, filepath.Join(r.disk, "data"), r.options()...)
	if _, ok := r.broker.stdout.await("Server startup complete", startWithin, r.broker.exited); !ok {
		r.wedge("start: it does not serve in %v:\n%s%s", startWithin, r.broker.stdout.tail(5), r.broker.stderr.tail(10))
		return false
	}
	r.took("start", began, startWithin)
	return true
}

// look asks for all that shows how the broker stands, again and again.
func (r *diskRun) look(stop <-chan struct{}) {
	for !isClosed(stop) && !r.gone() {
		r.lookOnce()
		pause(stop, 300*time.Millisecond)
	}
}

var writtenLine = regexp.MustCompile(`(?m)^bartleby_storage_written_bytes_total\{kind="(\w+)"\} (\S+)`)

func (r *diskRun) lookOnce() {
	for _, page := range []string{"/api/queues", "/api/nodes", "/api/overview", "/api/x/storage", "/metrics"} {
		protocol := "http"
		if page == "/metrics" {
			protocol = "http/prometheus"
		}
		began := time.Now()
		body, status, err := r.page(protocol, page)
		if r.gone() || isClosed(r.broker.ending()) {
			return
		}
		switch {
		case err != nil:
			r.wedge("GET %s: %v", page, err)
		case status != http.StatusOK:
			r.wedge("GET %s: %d %s", page, status, body)
		default:
			r.took(page, began, pageWithin)
		}
		if page == "/metrics" && err == nil {
			r.mu.Lock()
			for _, m := range writtenLine.FindAllStringSubmatch(string(body), -1) {
				r.mu.zeros[m[1]], _ = strconv.ParseFloat(m[2], 64)
			}
			r.mu.Unlock()
		}
	}
	began := time.Now()
	s, err := r.connect("/")
	if err != nil {
		r.refusedBy("a new connection", err)
		return
	}
	defer s.cut()
	if _, err := s.depth(workQueue); err != nil {
		r.refusedBy("a passive declaration on a new connection", err)
		return
	}
	r.took("connection", began, answerWithin)
}

func (r *diskRun) page(protocol, path string) (body []byte, status int, err error) {
	return r.ask(http.MethodGet, protocol, path)
}

func (r *diskRun) ask(method, protocol, path string) (body []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*pageWithin)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, method, "http://"+r.broker.addr(protocol)+path, nil)
	if err != nil {
		return nil, 0, err
	}
	ask.SetBasicAuth("guest", "guest")
	ask.Close = true
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return body, answer.StatusCode, err
}

// live runs one life but for its end.
func (r *diskRun) live(l diskLife, random *rand.Rand) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range 2 {
		own := rand.New(rand.NewPCG(random.Uint64(), 1))
		all.Go(func() { r.publish(r.queue(workQueue, i), stop, own) })
	}
	if l.consumes {
		for i := range 2 {
			own := rand.New(rand.NewPCG(random.Uint64(), 2))
			all.Go(func() { r.consume(r.queue(workQueue, i), r.ackShare, stop, own) })
		}
		if r.deadConsumed {
			for i := range max(r.vhosts, 1) {
				all.Go(func() { r.consume(r.queue(deadQueue, i), 100, stop, nil) })
			}
		}
	}
	all.Go(func() { r.look(stop) })
	pause(nil, l.traffic)
	if l.leave >= 0 {
		if err := r.stranger.fill(l.leave); err != nil {
			r.t.Error(err)
		}
	}
	pause(nil, l.full)
	if l.frees {
		if err := r.stranger.free(); err != nil {
			r.t.Error(err)
		}
		pause(nil, l.full/2)
	}
	switch l.end {
	case "kill":
		r.broker.kill()
	case "stop":
		r.stop()
	}
	close(stop)
	all.Wait()
	r.checkZeros()
}

// stop asks the broker to end.
func (r *diskRun) stop() {
	began := time.Now()
	r.broker.endSoon()
	r.broker.terminate()
	select {
	case <-r.broker.exited:
		r.took("SIGTERM", began, stopWithin)
	case <-time.After(stopWithin):
		r.wedge("SIGTERM: it has not ended in %v", stopWithin)
		_ = r.broker.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines are in its output
		select {
		case <-r.broker.exited:
		case <-time.After(2 * time.Second):
		}
		r.broker.kill()
	}
}

// checkZeros holds what was written only to have space against what was written to be kept.
func (r *diskRun) checkZeros() {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.mu.zeros
	const slack = 512 << 20
	if kept := w["groups"] + w["rewriting"] + w["checkpoints"]; w["zeros"] > 2*kept+slack {
		r.mu.wedged = append(r.mu.wedged, fmt.Sprintf("%.0f MiB of zeros beside %.0f MiB of data", w["zeros"]/(1<<20), kept/(1<<20)))
	}
	r.mu.zeros = map[string]float64{}
}

// givesBack waits until the log has let go of what was drained.
func (r *diskRun) givesBack() {
	const most = 8 // files that are being written, or have something small that is in use
	began := time.Now()
	for {
		var storage struct {
			Segments struct{ Count int }
			Live     int64 `json:"live_bytes"`
		}
		page, _, err := r.page("http", "/api/x/storage")
		if err == nil {
			err = json.Unmarshal(page, &storage)
		}
		switch {
		case err == nil && storage.Segments.Count <= most:
			r.took("giving back", began, goesOnWithin)
			return
		case time.Since(began) > goesOnWithin:
			r.wedge("%v after the drain nothing is given back: %v %s", goesOnWithin, err, page)
			return
		}
		pause(nil, 200*time.Millisecond)
	}
}

// goesOn publishes again, when all was drained.
func (r *diskRun) goesOn() {
	began := time.Now()
	for time.Since(began) < goesOnWithin {
		s, err := r.connect("/")
		if err != nil {
			r.refusedBy("connection of a publisher after the drain", err)
			pause(nil, 200*time.Millisecond)
			continue
		}
		err = bounded(goesOnWithin-time.Since(began), s.cut, func() error {
			if _, err := s.ch.QueueDeclare("after", true, false, false, false, nil); err != nil {
				return err
			}
			if err := s.ch.Confirm(false); err != nil {
				return err
			}
			for range 20 {
				c, err := s.ch.PublishWithDeferredConfirm("", "after", false, false, persistent(make([]byte, 16<<10)))
				if err != nil {
					return err
				}
				<-c.Done()
				if !c.Acked() {
					return errors.New("nacked")
				}
			}
			return nil
		})
		s.cut()
		if err == nil {
			r.took("publishing again", began, goesOnWithin)
			return
		}
	}
	storage, _, _ := r.page("http", "/api/x/storage")
	r.wedge("publishing does not go on %v after the drain; free %d MiB, the stranger has %d MiB; %s",
		goesOnWithin, r.stranger.room()>>20, r.stranger.has()>>20, storage)
}

// run plays a trial.
func (r *diskRun) run(random *rand.Rand) {
	if !r.serve() {
		return
	}
	for _, q := range r.queues() {
		if q.vhost != "/" && q.name == workQueue {
			body, status, err := r.ask(http.MethodPut, "http", "/api/vhosts/"+q.vhost)
			if must(r.t, err); status != http.StatusCreated {
				r.t.Fatalf("PUT vhost: %d %s", status, body)
			}
		}
		s, err := r.connect(q.vhost)
		must(r.t, err)
		arguments := amqp.Table(nil)
		if q.name == workQueue {
			arguments = amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": deadQueue}
		}
		declare(r.t, s.ch, q.name, true, arguments)
		s.cut()
	}
	for i, l := range r.lives {
		r.live(l, random)
		if r.isWedged() {
			return
		}
		if l.end == "none" {
			continue
		}
		if i < len(r.lives)-1 && random.IntN(3) == 0 {
			must(r.t, r.stranger.free())
		}
		if !r.serve() {
			return
		}
	}
	if !r.strangerStay {
		must(r.t, r.stranger.free())
	}
	before := r.books.sums()
	count := r.drainAll()
	if r.isWedged() {
		return
	}
	if r.drain != "consume" && (count < before.must || count > before.may) {
		r.mu.doubled = append(r.mu.doubled, fmt.Sprintf("%s: %d messages were there; from %d to %d should be", r.drain, count, before.must, before.may))
	}
	r.givesBack()
	if !r.mayPublish() {
		must(r.t, r.stranger.free())
	}
	r.goesOn()
	r.stop()
	if !r.isWedged() && r.drain == "consume" && r.serve() {
		// What waited for the end of an alarm, unconfirmed, may have come; what was settled may not.
		for _, q := range r.queues() {
			r.drainQueue(q)
		}
	}
}

// mayPublish reports whether the space that the stranger leaves is enough for publishers.
func (r *diskRun) mayPublish() bool {
	if r.greedy {
		return false
	}
	needs := min(r.size/4, 640<<20) // what a broker keeps on such a disk for itself, at most
	if r.small {
		needs = 80 << 20
	}
	if !r.noLimit {
		needs += diskLimit + diskLimit/10
	}
	return r.stranger.room()+r.has() > needs
}

// has is how much of the disk the broker's data takes.
func (r *diskRun) has() (bytes int64) {
	_ = filepath.Walk(filepath.Join(r.disk, "data"), func(_ string, f os.FileInfo, err error) error {
		if err == nil {
			bytes += f.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil // a file may go meanwhile
	})
	return bytes
}

// If this fails, a full disk blocks the broker forever, loses confirmed messages, or returns settled messages.
func TestFullDiskTrials(t *testing.T) {
	began := time.Now()
	n := cmp.Or(*trials, trialsUsual)
	var wedged, lost, doubled atomic.Int64
	for i := range n {
		own := *seed + uint64(i)
		t.Run(fmt.Sprintf("%d", own), func(t *testing.T) {
			random := rand.New(rand.NewPCG(own, 14))
			d := randomTrial(random)
			if *preset != "" {
				d = presetTrial(*preset, random)
			} else if *trials == 0 {
				d.shorten()
			}
			r := &diskRun{diskTrial: d, t: t, books: &diskBooks{}}
			r.mu.slowest, r.mu.zeros = map[string]time.Duration{}, map[string]float64{}
			t.Logf("seed %d: %v", own, &d)
			r.disk = ext4Disk(t, d.size)
			r.stranger = newStranger(r.disk)
			r.run(random)
			if r.isWedged() && os.Getenv("FULLDISK_OUT") != "" && !r.gone() {
				r.storage, _, _ = r.page("http", "/api/x/storage")
				_ = r.broker.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines are in its output
				pause(r.broker.exited, 2*time.Second)
			}
			r.broker.kill()
			r.report(&wedged, &lost, &doubled)
		})
	}
	t.Logf("%d trials: %d wedged, %d lost, %d doubled in %v", n, wedged.Load(), lost.Load(), doubled.Load(), time.Since(began).Round(time.Second))
}

// report judges the trial.
func (r *diskRun) report(wedged, lost, doubled *atomic.Int64) {
	gone, twice, examples := 0, 0, []string(nil)
	if len(r.mu.wedged) > 0 {
		wedged.Add(1)
		r.t.Errorf("wedged:\n%s\nthe broker:\n%s", strings.Join(r.mu.wedged, "\n"), r.broker.stderr.tail(15))
		if path := os.Getenv("FULLDISK_OUT"); path != "" {
			_ = os.WriteFile(filepath.Join(path, filepath.Base(r.t.Name())+".txt"), append(r.storage, r.broker.stderr.tail(100000)...), 0o644)
		}
	} else if r.drain == "consume" {
		gone, twice, examples = r.books.judge()
	}
	if gone > 0 {
		lost.Add(1)
		r.t.Errorf("%d lost: %v", gone, examples)
	}
	if twice > 0 || len(r.mu.doubled) > 0 {
		doubled.Add(1)
		r.t.Errorf("%d doubled: %v %v", twice, examples, r.mu.doubled)
	}
	var slow []string
	for what, d := range r.mu.slowest {
		slow = append(slow, fmt.Sprintf("%s %v", what, d.Round(time.Millisecond)))
	}
	slices.Sort(slow)
	s := r.books.sums()
	r.t.Logf("%d published, %d confirmed; slowest: %s", s.published, s.confirmed, strings.Join(slow, ", "))
}
