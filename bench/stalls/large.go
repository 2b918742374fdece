package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby/internal/api"
)

const (
	// largeRounds is how often the large dead letters are redriven: from one queue to the other, and back.
	largeRounds = 5
	// largeGrowth is how much more the broker may have resident after the last round than after the first.
	largeGrowth = 64 << 20
	// redriveWatch is for how long a redrive watches at its end, ms, which is a part of its time.
	redriveWatch = 1
)

// large redrives large dead letters, several times in the same process. It fails if the memory alarm is set meanwhile,
// or if much more is resident after the last round than after the first.
func (b *bench) large() error {
	conn, err := amqp.Dial(b.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := b.fillLarge(conn); err != nil {
		return err
	}
	stop, err := b.measure()
	if err != nil {
		return err
	}
	defer stop()
	time.Sleep(settled)
	before, err := b.alarms()
	if err != nil {
		return err
	}
	fmt.Printf("\n| redrive of %d dead letters of %d MB | it took, ms | p50, ms | p99 | max | resident, MiB | peak |\n",
		b.deadLetters, b.octets/1_000_000)
	fmt.Println("|--|--|--|--|--|--|--|")
	if _, err := b.largeRow("nothing", func() error { return nil }); err != nil {
		return err
	}
	b.over = 0 // what the machine does to messages when nothing happens is not the broker's
	var first, last int64
	from, to := "large.dead", "large.again"
	for round := range largeRounds {
		last, err = b.largeRow(fmt.Sprint("round ", round+1), func() error { return b.redrive(from, to) })
		if err != nil {
			return err
		}
		if round == 0 {
			first = last
		}
		from, to = to, from
	}
	after, err := b.alarms()
	switch {
	case err != nil:
		return err
	case after > before:
		return fmt.Errorf("the memory alarm was set %d times", after-before)
	case last > first+largeGrowth:
		return fmt.Errorf("%d MiB are resident after the last round, %d after the first", last>>20, first>>20)
	}
	return nil
}

// fillLarge makes the dead letters: in a queue that may have no messages they die at once.
func (b *bench) fillLarge(conn *amqp.Connection) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	for _, name := range []string{"large.dead", "large.again"} {
		if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
			return err
		}
	}
	if _, err := ch.QueueDeclare("large", true, false, false, false, amqp.Table{
		"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "large.dead",
	}); err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	body := make([]byte, b.octets)
	for i := range b.deadLetters {
		copy(body, strconv.Itoa(i))
		confirm, err := ch.PublishWithDeferredConfirmWithContext(context.Background(), "", "large", false, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Headers: amqp.Table{"n": i}, Body: body})
		if err != nil {
			return err
		}
		confirm.Wait()
	}
	return nil
}

// largeRow does something, and prints what became of messages and memory meanwhile. It returns what is resident
// afterwards.
func (b *bench) largeRow(name string, do func() error) (resident int64, err error) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", b.pid), []byte("5"), 0); err != nil {
		return 0, err
	}
	b.take()
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	lasted := time.Since(began)
	time.Sleep(time.Second)
	took := b.sorted()
	resident, peak, err := b.memory()
	fmt.Printf("| %s | %.0f | %.2f | %.2f | %.2f | %d | %d |\n", name, ms(lasted),
		at(took, 0.5), at(took, 0.99), at(took, 1), resident>>20, peak>>20)
	time.Sleep(settled)
	return resident, err
}

// api is the management API of the broker.
func (b *bench) api() *api.Client {
	return &api.Client{Base: b.management, User: "guest", Password: "guest"}
}

// redrive runs a job that moves all of a queue into another.
func (b *bench) redrive(from, to string) error {
	var job struct {
		ID    int
		State string
		Moved int
	}
	ctx, broker := context.Background(), b.api()
	err := broker.Post(ctx, map[string]any{
		"source": map[string]any{"queue": from}, "target": map[string]any{"to": "queue", "queue": to},
		"options": map[string]any{"watch_ms": redriveWatch},
	}, &job, "x", "redrives", "/")
	for err == nil && job.State != "done" {
		time.Sleep(20 * time.Millisecond)
		err = broker.Get(ctx, &job, "x", "redrives", "/", strconv.Itoa(job.ID))
	}
	if err == nil && job.Moved != b.deadLetters {
		err = fmt.Errorf("%d dead letters of %d were redriven", job.Moved, b.deadLetters)
	}
	return err
}

// alarms is how often the memory alarm was set.
func (b *bench) alarms() (int, error) {
	answer, err := http.Get(b.metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	_, after, found := strings.Cut(string(text), `bartleby_alarms_raised_total{resource="memory"} `)
	if !found {
		return 0, fmt.Errorf("%s has no count of memory alarms", b.metrics)
	}
	n, _, _ := strings.Cut(after, "\n")
	return strconv.Atoi(n)
}

// memory is what the broker has resident, and had at the most since it was reset, in bytes.
func (b *bench) memory() (resident, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid))
	if err != nil {
		return 0, 0, err
	}
	for name, to := range map[string]*int64{"VmRSS:": &resident, "VmHWM:": &peak} {
		_, after, _ := strings.Cut(string(text), name)
		kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		*to = kib << 10
	}
	return resident, peak, nil
}
