// Command redrive fills a queue with messages and has a job send them into another one, as fast as it can and at a
// rate, and prints how fast it was. redrive.sh runs it against a broker of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// job is what the management API tells of one.
type job struct {
	ID           int
	State        string
	Moved        float64
	Begun, Ended time.Time
}

type bench struct {
	api      *api.Client
	channel  *amqp.Channel
	confirms chan amqp.Confirmation
}

func main() {
	url := flag.String("url", "amqp://guest:guest@127.0.0.1:5672/", "the broker")
	management := flag.String("management", "http://127.0.0.1:15672", "its management API")
	count := flag.Int("count", 1_000_000, "messages")
	size := flag.Int("size", 1024, "octets of a body")
	rate := flag.Int("rate", 1000, "of the second job, messages per second")
	lasts := flag.Duration("lasts", 20*time.Second, "how long the second job may go on")
	flag.Parse()
	if err := run(*url, *management, *count, *size, *rate, *lasts); err != nil {
		fmt.Fprintln(os.Stderr, "redrive:", err)
		os.Exit(1)
	}
}

func run(url, management string, count, size, rate int, lasts time.Duration) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	b := &bench{
		api:      &api.Client{Base: management, User: "guest", Password: "guest"},
		confirms: make(chan amqp.Confirmation, 1<<16),
	}
	if b.channel, err = conn.Channel(); err != nil {
		return err
	}
	for _, name := range []string{"perf.dead", "perf.work"} {
		if _, err := b.channel.QueueDeclare(name, true, false, false, false, nil); err != nil {
			return err
		}
	}
	if err := b.fill(count, size); err != nil {
		return err
	}
	fast, err := b.redrive("perf.dead", "perf.work", "", 0)
	if err != nil {
		return err
	}
	sifted, err := b.redrive("perf.work", "perf.dead", "header.n:1", 0)
	if err != nil {
		return err
	}
	paced, err := b.redrive("perf.work", "perf.dead", "", rate, lasts)
	if err != nil {
		return err
	}
	fmt.Printf("| %d of %d octets, as fast as may be | ≥ 50 k/s | %.0f k/s |\n", count, size, fast.speed()/1000)
	fmt.Printf("| the same, one in a hundred picked by a header | | %.0f k/s looked at |\n", float64(count)/sifted.seconds()/1000)
	fmt.Printf("| at %d/s | ± 5 %% | %.1f/s |\n", rate, paced.speed())
	return nil
}

// seconds are without the tenth in which the end of a job is watched.
func (j *job) seconds() float64 { return (j.Ended.Sub(j.Begun) - 100*time.Millisecond).Seconds() }
func (j *job) speed() float64   { return j.Moved / j.seconds() }

func (b *bench) fill(count, size int) error {
	if err := b.channel.Confirm(false); err != nil {
		return err
	}
	b.channel.NotifyPublish(b.confirms)
	body, outstanding := []byte(strings.Repeat("x", size)), 0
	for i := range count {
		m := amqp.Publishing{DeliveryMode: amqp.Persistent, Headers: amqp.Table{"n": int32(i % 100)}, Body: body}
		if err := b.channel.PublishWithContext(context.Background(), "", "perf.dead", false, false, m); err != nil {
			return err
		}
		if outstanding++; outstanding == 20_000 {
			<-b.confirms
			outstanding--
		}
	}
	for ; outstanding > 0; outstanding-- {
		<-b.confirms
	}
	return nil
}

// redrive runs a job to its end, or cancels it after a while.
func (b *bench) redrive(from, to, filter string, rate int, lasts ...time.Duration) (j job, err error) {
	ctx := context.Background()
	err = b.api.Post(ctx, map[string]any{
		"source": map[string]any{"queue": from}, "filter": filter, "target": map[string]any{"to": "queue", "queue": to},
		"options": map[string]any{"rate": rate, "watch_ms": 100},
	}, &j, "x", "redrives", "/")
	began := time.Now()
	for err == nil && j.State != "done" && j.State != "cancelled" {
		time.Sleep(100 * time.Millisecond)
		id := strconv.Itoa(j.ID)
		get := func() error { return b.api.Get(ctx, &j, "x", "redrives", "/", id) }
		if err = get(); err == nil && len(lasts) > 0 && time.Since(began) > lasts[0] {
			if err = b.api.Post(ctx, nil, nil, "x", "redrives", "/", id, "cancel"); err == nil {
				err = get()
				j.Ended = j.Ended.Add(100 * time.Millisecond) // nothing was watched
			}
		}
	}
	return j, err
}
