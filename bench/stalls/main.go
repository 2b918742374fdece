// Command stalls measures how long a message takes through one queue while another connection asks for something that
// concerns very much: a purge, a deletion, a dead letter to many queues, a large commit, the end of a channel with many
// messages, the ends of many connections. stalls.sh runs it against a broker of its own.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// settled is how long it takes until what was prepared is written, and maintenance has nothing left to do.
const settled = 3 * time.Second

type bench struct {
	url, management, metrics string
	pid                      int
	backlog, queues, copies,
	unacked, ends int
	deadLetters, octets int // dead letters that are redriven, and of the body of each
	pace                time.Duration

	held *exec.Cmd // the process whose connections end

	most time.Duration // the goal for the 99th percentile
	over int           // times that it was missed

	mu   sync.Mutex
	took []time.Duration
}

func main() {
	var b bench
	flag.StringVar(&b.url, "url", "amqp://guest:guest@127.0.0.1:5672/", "the broker")
	flag.IntVar(&b.backlog, "backlog", 5_000_000, "messages that are purged, and deleted with their queue")
	flag.IntVar(&b.queues, "queues", 10_000, "that a dead letter goes to")
	flag.IntVar(&b.copies, "copies", 200_000, "that a commit makes, in 1,000 queues")
	flag.IntVar(&b.unacked, "unacked", 200_000, "messages of a channel that is closed")
	flag.StringVar(&b.management, "management", "http://127.0.0.1:15672", "its management API")
	flag.IntVar(&b.ends, "ends", 1000, "connections that end at once")
	held := flag.Int("hold", 0, "do nothing but hold so many connections until killed")
	takes := flag.Bool("take", false, "do nothing but take -unacked messages and close the channel")
	shared := flag.Bool("shared", false, "these consume from one queue")
	flag.StringVar(&b.metrics, "metrics", "http://127.0.0.1:15692", "its metrics")
	flag.IntVar(&b.pid, "pid", 0, "its process")
	flag.IntVar(&b.deadLetters, "letters", 256, "large dead letters that are redriven")
	flag.IntVar(&b.octets, "octets", 15_000_000, "of the body of each")
	large := flag.Bool("large", false, "redrive large dead letters, and nothing else")
	flag.DurationVar(&b.pace, "pace", time.Millisecond, "between two messages through the measured queue")
	flag.DurationVar(&b.most, "most", 30*time.Millisecond, "what the 99th percentile may be while the rest happens")
	flag.Parse()
	if *held > 0 {
		fmt.Fprintln(os.Stderr, "stalls:", hold(b.url, *held, *shared))
		os.Exit(1)
	}
	do := b.run
	switch {
	case *large:
		do = b.large
	case *takes:
		do = b.takeHeld
	}
	err := do()
	if err == nil && b.over > 0 {
		err = fmt.Errorf("%d times the 99th percentile was over %v", b.over, b.most)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stalls:", err)
		os.Exit(1)
	}
}

func (b *bench) run() error {
	stop, err := b.measure()
	if err != nil {
		return err
	}
	defer stop()
	conn, err := amqp.Dial(b.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	cases := []struct {
		name    string
		prepare func() error
		do      func() error
	}{
		{"nothing", func() error { return nil }, func() error { time.Sleep(3 * time.Second); return nil }},
		{"purge", func() error { return b.fill(ch, "long", b.backlog) }, func() error {
			_, err := ch.QueuePurge("long", false)
			return err
		}},
		{"delete", func() error { return b.fill(ch, "long", b.backlog) }, func() error {
			_, err := ch.QueueDelete("long", false, false, false)
			return err
		}},
		{"close", func() error { return b.fill(ch, "held", b.unacked) }, b.closeElsewhere},
		{"commit", func() error { return b.bind(ch, "commit", min(1000, b.copies)) }, func() error { return b.commit(conn) }},
		{"dead letter", func() error { return b.source(ch) }, func() error { return b.reject(ch) }},
		{"dead letter again", func() error { return nil }, func() error { return b.reject(ch) }},
		{"ends", b.startCrowd, b.killCrowd},
		{"ends, one queue", b.startSharing, b.killCrowd},
	}
	fmt.Println("| while | it took, ms | messages | p50, ms | p99 | max |\n|--|--|--|--|--|--|")
	for _, c := range cases {
		if err := c.prepare(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		time.Sleep(settled)
		b.take()
		began := time.Now()
		if err := c.do(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		lasted := time.Since(began)
		time.Sleep(time.Second) // what goes on after the answer is measured, too
		b.print(c.name, lasted)
	}
	return nil
}

// measure sends messages through a queue of their own at a pace, and notes how long each took, until it is stopped.
func (b *bench) measure() (stop func(), err error) {
	conn, err := amqp.Dial(b.url)
	if err != nil {
		return nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	if _, err = ch.QueueDeclare("measured", false, true, false, false, nil); err != nil {
		return nil, err
	}
	reader, err := amqp.Dial(b.url)
	if err != nil {
		return nil, err
	}
	to, err := reader.Channel()
	if err != nil {
		return nil, err
	}
	came, err := to.Consume("measured", "", true, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	go func() {
		for d := range came {
			took := time.Since(start) - time.Duration(binary.BigEndian.Uint64(d.Body))
			b.mu.Lock()
			b.took = append(b.took, took)
			b.mu.Unlock()
		}
	}()
	ended := make(chan struct{})
	go func() {
		for next := time.Since(start); ; next += b.pace { // of one that is sent late it counts when it should have been
			select {
			case <-ended:
				return
			case <-time.After(next - time.Since(start)):
			}
			body := binary.BigEndian.AppendUint64(nil, uint64(next))
			if ch.PublishWithContext(context.Background(), "", "measured", false, false, amqp.Publishing{Body: body}) != nil {
				return
			}
		}
	}()
	return func() { close(ended); conn.Close(); reader.Close() }, nil
}

var start = time.Now()

// take returns what was noted, and begins anew.
func (b *bench) take() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := b.took
	b.took = nil
	return took
}

func (b *bench) print(name string, lasted time.Duration) {
	took := b.sorted()
	if len(took) == 0 {
		fmt.Printf("| %s | %.0f | 0 | | | |\n", name, ms(lasted))
		return
	}
	fmt.Printf("| %s | %.0f | %d | %.2f | %.2f | %.2f |\n", name, ms(lasted), len(took), at(took, 0.5), at(took, 0.99), at(took, 1))
}

// sorted returns what was noted, shortest first, begins anew, and counts if the goal was missed.
func (b *bench) sorted() []time.Duration {
	took := b.take()
	slices.Sort(took)
	if at(took, 0.99) > ms(b.most) {
		b.over++
	}
	return took
}

// at is below which time, in ms, that share of all stayed.
func at(took []time.Duration, share float64) float64 {
	if len(took) == 0 {
		return 0
	}
	return ms(took[int(share*float64(len(took)-1))])
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fill declares a queue and puts that many persistent messages into it.
func (b *bench) fill(ch *amqp.Channel, name string, n int) error {
	if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
		return err
	}
	for range n {
		m := amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("sixteen octets..")}
		if err := ch.PublishWithContext(context.Background(), "", name, false, false, m); err != nil {
			return err
		}
	}
	for { // the last has come when the queue is as long
		q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
		if err != nil || q.Messages >= n {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// bind declares n queues and binds them to a fanout exchange of that name.
func (b *bench) bind(ch *amqp.Channel, name string, n int) error {
	if err := ch.ExchangeDeclare(name, "fanout", true, false, false, false, nil); err != nil {
		return err
	}
	for i := range n {
		queue := fmt.Sprint(name, ".", i)
		if _, err := ch.QueueDeclare(queue, true, false, false, i < n-1, nil); err != nil {
			return err
		}
		if err := ch.QueueBind(queue, "", name, i < n-1, nil); err != nil {
			return err
		}
	}
	return nil
}

// commit publishes what makes the copies in one transaction, and measures nothing until it is committed.
func (b *bench) commit(conn *amqp.Connection) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	if err := ch.Tx(); err != nil {
		return err
	}
	for range b.copies / min(1000, b.copies) {
		m := amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("sixteen octets..")}
		if err := ch.PublishWithContext(context.Background(), "commit", "", false, false, m); err != nil {
			return err
		}
	}
	return ch.TxCommit()
}

// closeElsewhere runs takeHeld in a process of its own: what a client does with very many messages would delay the
// measured ones.
func (b *bench) closeElsewhere() error {
	c := exec.Command(os.Args[0], "-take", "-url", b.url, "-unacked", fmt.Sprint(b.unacked))
	c.Stderr = os.Stderr
	return c.Run()
}

// takeHeld takes all messages of a queue, and closes the channel.
func (b *bench) takeHeld() error {
	conn, err := amqp.Dial(b.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	came, err := ch.Consume("held", "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	for range b.unacked {
		if _, ok := <-came; !ok {
			return errors.New("the channel was closed before all messages came")
		}
	}
	return ch.Close()
}

// source declares a queue whose dead letters go to many.
func (b *bench) source(ch *amqp.Channel) error {
	if err := b.bind(ch, "letters", b.queues); err != nil {
		return err
	}
	_, err := ch.QueueDeclare("source", true, false, false, false, amqp.Table{"x-dead-letter-exchange": "letters"})
	return err
}

// reject makes a dead letter.
func (b *bench) reject(ch *amqp.Channel) error {
	m := amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("sixteen octets..")}
	if err := ch.PublishWithContext(context.Background(), "", "source", false, false, m); err != nil {
		return err
	}
	for {
		d, ok, err := ch.Get("source", false)
		if err != nil {
			return err
		}
		if ok {
			return d.Reject(false)
		}
	}
}
