package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/rabbitmq/amqp091-go"
)

const (
	// mixedFor is how long the mixed attack lasts, mixedEvery how often its peak is printed. Messages
	// are half sent after mixedFirst: the broker has memory for lists and copies until then.
	mixedFor, mixedFirst, mixedEvery = 70 * time.Second, 20 * time.Second, 10 * time.Second
	mixedPause                       = 10 * time.Millisecond

	// halfSent are the connections that stop in the middle of a message of halfBytes.
	halfSent, halfBytes, frameMax = 150, 16 << 20, 128 << 10
	// largePuts are the clients that send arguments of largeBytes over HTTP.
	largePuts, largeBytes = 8, 8 << 20
	// churns are the clients that declare and delete queues with arguments of churnBytes, churnRound
	// at a time: so checkpoints are taken.
	churns, churnRound, churnBytes = 8, 20, 100 << 10
)

// mixedRequests have large answers, or copy the virtual host. Those without a slash before them are for the metrics.
var mixedRequests = []string{
	"GET /api/queues", "GET /api/queues?sort=messages", "GET /api/queues?sort=arguments", "GET /api/bindings",
	"GET /api/exchanges/%2F/orders/bindings/source", "GET /api/definitions", "GET /api/definitions/%2F",
	"GET metrics", "GET metrics/per-object", "GET metrics/detailed?family=queue_coarse_metrics",
	"GET /api/connections", "GET /api/channels", "GET /api/consumers", "GET /api/overview",
	"GET /api/x/lint", "GET /api/x/lint/%2F", "GET /api/x/topology/%2F",
	"GET /api/x/explain/queues/%2F/orders.customer-000001", "DELETE /api/x/dry-run/policies/%2F/all",
}

// An attack is what has happened in the mixed attack.
type attack struct {
	*bench
	body                                       []byte // of each message that is half sent
	end                                        time.Time
	answers, refused, accepted, halves, queues atomic.Int64
}

// mixed does at the same time what the limits of memory are for, and prints what the broker had resident at the most.
// The steps bind and consume belong before it.
func (b *bench) mixed() error {
	if err := b.resetPeak(); err != nil {
		return err
	}
	before, _ := b.resident()
	cpu := b.cpu()
	a := attack{bench: b, body: make([]byte, halfBytes), end: time.Now().Add(mixedFor)}
	var wait sync.WaitGroup
	a.run(&wait)
	for time.Now().Before(a.end) {
		time.Sleep(min(mixedEvery, time.Until(a.end)))
		now, _ := b.resident()
		peak, _ := b.peak()
		left := max(time.Until(a.end), 0)
		fmt.Printf("| mixed, %.0f s left | %d KiB now, %d KiB at the most | |\n", left.Seconds(), now>>10, peak>>10)
	}
	peak, err := b.peak()
	taken := b.checkpoints()
	wait.Wait()
	fmt.Printf("| mixed | %d KiB before, %d KiB at the most | CPU %.1f s; %d answers began, %d large arguments refused, "+
		"%d accepted, %d MiB half sent, %d queues deleted, %s checkpoints |\n", before>>10, peak>>10, (b.cpu() - cpu).Seconds(),
		a.answers.Load(), a.refused.Load(), a.accepted.Load(), a.halves.Load()>>20, a.queues.Load(), taken)
	if err == nil && peak > residentMax {
		err = fmt.Errorf("%d KiB were resident in the mixed attack, the goal is %d", peak>>10, residentMax>>10)
	}
	return err
}

// run starts all clients, which go on until the end.
func (a *attack) run(wait *sync.WaitGroup) {
	again := func(after time.Duration, do func()) {
		wait.Go(func() {
			for time.Sleep(after); time.Now().Before(a.end); time.Sleep(mixedPause) {
				do()
			}
		})
	}
	for range halfSent {
		again(mixedFirst, a.sendHalf)
	}
	for k := range a.clients {
		again(0, func() {
			a.ask(mixedRequests[k%len(mixedRequests)])
			k++ // each client goes round the requests from its own place on
		})
	}
	body := `{"durable":true,"arguments":{"x-text":"` + strings.Repeat("x", largeBytes) + `"}}`
	for k := range largePuts {
		again(0, func() {
			if _, err := a.send("PUT", fmt.Sprintf("%s/api/queues/%%2F/large-%d", a.management, k), body); err != nil {
				a.refused.Add(1)
			} else {
				a.accepted.Add(1)
			}
		})
	}
	for k := range churns {
		again(0, func() { a.churn(k) })
	}
}

// ask sends a request and reads nothing of the answer.
func (a *attack) ask(request string) {
	method, path, _ := strings.Cut(request, " ")
	server := a.management
	if !strings.HasPrefix(path, "/") {
		server = a.metrics + "/"
	}
	u, err := url.Parse(server + path)
	if err != nil {
		return
	}
	until := time.Now().Add(unreadFor)
	if until.After(a.end) {
		until = a.end
	}
	if begun, _ := readNothing(method, u, until); begun {
		a.answers.Add(1)
	}
}

// sendHalf publishes a message whose last bytes are never sent. It stays until the broker closes the connection.
func (a *attack) sendHalf() {
	half := &halfConn{attack: a, left: halfBytes, ended: make(chan struct{})}
	conn, err := client.DialConfig(a.url, client.Config{
		Heartbeat: time.Minute, FrameSize: frameMax,
		Dial: func(network, address string) (_ net.Conn, err error) {
			half.Conn, err = net.DialTimeout(network, address, time.Until(a.end))
			return half, err
		},
	})
	if err != nil {
		return
	}
	defer time.AfterFunc(time.Until(a.end), func() { _ = half.Close() }).Stop() // the client waits to send
	if ch, err := conn.Channel(); err == nil {
		_ = ch.Publish("", "orders.customer-000001", false, false, client.Publishing{Body: a.body})
	}
	_ = half.Close()
}

// A halfConn sends so many bytes and then nothing.
type halfConn struct {
	net.Conn
	*attack
	left  int
	once  sync.Once
	ended chan struct{}
}

// Write implements net.Conn.
func (c *halfConn) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		<-c.ended
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Write(p)
	c.halves.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (c *halfConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

// churn declares durable queues, binds them and deletes them.
func (a *attack) churn(k int) {
	conn, err := client.Dial(a.url)
	if err != nil {
		return
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return
	}
	arguments := client.Table{"x-text": strings.Repeat("x", churnBytes)}
	for time.Now().Before(a.end) {
		// Only the last answer of each kind is waited for: others are busy too, and much is to be logged.
		for i := range churnRound {
			name, waits := fmt.Sprintf("churn-%d-%d", k, i), i == churnRound-1
			if _, err := ch.QueueDeclare(name, true, false, false, !waits, arguments); err != nil {
				return
			}
			if err := ch.QueueBind(name, name, "orders", !waits, nil); err != nil {
				return
			}
		}
		for i := range churnRound {
			if _, err := ch.QueueDelete(fmt.Sprintf("churn-%d-%d", k, i), false, false, i < churnRound-1); err != nil {
				return
			}
			a.queues.Add(1)
		}
	}
}

// checkpoints is how many checkpoints the broker has taken, as text.
func (b *bench) checkpoints() string {
	answer, err := http.Get(b.metrics + "/metrics")
	if err != nil {
		return "?"
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	_, after, found := strings.Cut(string(text), `bartleby_checkpoints_total{outcome="done"} `)
	if !found {
		return "?"
	}
	n, _, _ := strings.Cut(after, "\n")
	return n
}
