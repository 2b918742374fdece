// Command crowd declares many idle queues, and prints what each costs the broker: resident memory, and the CPU time of
// requests that list them. crowd.sh runs it against a broker of its own.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// times is how often each request is sent: the mean is shown.
const times = 5

// The goals: memory for each idle queue, and what may be resident at the watermark of crowd.sh while clients do not
// read.
const (
	queueBytesMax = 3 << 10
	residentMax   = 640 << 20
)

type bench struct {
	url, management, metrics string
	pid                      int
	queues, connections      int
	clients                  int
}

func main() {
	var b bench
	flag.StringVar(&b.url, "url", "amqp://guest:guest@127.0.0.1:5672/", "the broker")
	flag.StringVar(&b.management, "management", "http://127.0.0.1:15672", "its management API")
	flag.StringVar(&b.metrics, "metrics", "http://127.0.0.1:15692", "its metrics")
	flag.IntVar(&b.pid, "pid", 0, "its process")
	flag.IntVar(&b.queues, "queues", 100_000, "durable queues")
	flag.IntVar(&b.connections, "connections", 8, "connections that declare them")
	flag.IntVar(&b.clients, "clients", 100, "clients that ask for each list and read nothing of it")
	what := flag.String("do", "declare,ask",
		"declare, ask, bind, consume, unread, mixed, policy, delete: with commas between")
	flag.Parse()
	steps := map[string]func() error{
		"declare": b.declare, "ask": b.ask, "bind": b.bind, "consume": b.consume, "unread": b.unread, "mixed": b.mixed,
		"policy": b.policy, "delete": b.delete,
	}
	for step := range strings.SplitSeq(*what, ",") {
		do, known := steps[step]
		if !known {
			fmt.Fprintf(os.Stderr, "crowd: %s is none of the steps\n", step)
			os.Exit(64)
		}
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, "crowd:", err)
			os.Exit(1)
		}
	}
}

// declare declares the queues, and prints what they cost.
func (b *bench) declare() error {
	before, err := b.resident()
	if err != nil {
		return err
	}
	cpu, began := b.cpu(), time.Now()
	errs := make([]error, b.connections)
	var wait sync.WaitGroup
	for k := range b.connections {
		wait.Go(func() { errs[k] = b.declareSome(k) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	b.row(fmt.Sprintf("declare %d queues", b.queues), time.Since(began), b.cpu()-cpu, 0)
	after, err := b.resident()
	each := (after - before) / int64(b.queues)
	fmt.Printf("| resident | %d KiB before, %d KiB after | %d bytes a queue |\n", before>>10, after>>10, each)
	if err == nil && each > queueBytesMax {
		err = fmt.Errorf("a queue takes %d bytes, the goal is %d", each, queueBytesMax)
	}
	return err
}

// declareSome declares every queue whose number leaves k over when divided by the connections.
func (b *bench) declareSome(k int) error {
	conn, err := amqp.Dial(b.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	for i := k; i < b.queues; i += b.connections {
		if _, err := ch.QueueDeclare(fmt.Sprintf("orders.customer-%06d", i), true, false, false, false, nil); err != nil {
			return err
		}
	}
	return nil
}

// ask sends requests that list queues, and prints what they cost.
func (b *bench) ask() error {
	for _, url := range []string{
		b.management + "/api/queues?page=1&page_size=100",
		b.management + "/api/queues?page=1&page_size=100&sort=name",
		b.management + "/api/queues?page=1&page_size=100&sort=messages&sort_reverse=true",
		b.management + "/api/queues?page=1&page_size=100&sort=message_stats.publish_details.rate&sort_reverse=true",
		b.management + "/api/queues?page=1&page_size=100&name=customer-0777",
		b.management + "/api/queues/%2F?page=500&page_size=100",
		b.management + "/api/queues/%2F/orders.customer-000777",
		b.management + "/api/queues?columns=name,messages",
		b.management + "/api/queues",
		b.management + "/api/overview",
		b.management + "/api/vhosts",
		b.management + "/api/exchanges",
		b.management + "/api/bindings?page=1&page_size=100",
		b.management + "/api/x/letters",
		b.metrics + "/metrics",
		b.metrics + "/metrics/per-object",
	} {
		cpu, began := b.cpu(), time.Now()
		size := 0
		for range times {
			n, err := b.send("GET", url, "")
			if err != nil {
				return err
			}
			size = n
		}
		b.row("GET "+url[strings.Index(url[8:], "/")+8:], time.Since(began)/times, (b.cpu()-cpu)/times, size)
	}
	after, err := b.resident()
	fmt.Printf("| resident | %d KiB | |\n", after>>10)
	return err
}

// policy sets a policy that matches all queues, and takes it back.
func (b *bench) policy() error {
	const path = "/api/policies/%2F/all"
	for _, x := range [][2]string{{"PUT", `{"pattern":"^orders","definition":{"max-length":1000,"dead-letter-exchange":"dlx"}}`}, {"DELETE", ""}} {
		cpu, began := b.cpu(), time.Now()
		if _, err := b.send(x[0], b.management+path, x[1]); err != nil {
			return err
		}
		b.row(x[0]+" "+path, time.Since(began), b.cpu()-cpu, 0)
	}
	return nil
}

// delete deletes the virtual host.
func (b *bench) delete() error {
	cpu, began := b.cpu(), time.Now()
	if _, err := b.send("DELETE", b.management+"/api/vhosts/%2F", ""); err != nil {
		return err
	}
	b.row("DELETE /api/vhosts/%2F", time.Since(began), b.cpu()-cpu, 0)
	after, err := b.resident()
	fmt.Printf("| resident | %d KiB | |\n", after>>10)
	return err
}

func (b *bench) row(what string, lasted, cpu time.Duration, size int) {
	fmt.Printf("| %s | %.1f ms, CPU %.0f ms | %d bytes |\n", what, float64(lasted.Microseconds())/1000, float64(cpu.Microseconds())/1000, size)
}

func (b *bench) send(method, url, body string) (size int, err error) {
	r, err := http.NewRequest(method, url, bytes.NewBufferString(body))
	if err != nil {
		return 0, err
	}
	r.SetBasicAuth("guest", "guest")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s", method, url, answer.Status)
	}
	return int(n), err
}

// resident is the broker's resident memory, bytes.
func (b *bench) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", b.pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// tick is the unit of CPU times in /proc.
const tick = 10 * time.Millisecond

// cpu is the CPU time that the broker has used.
func (b *bench) cpu() (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.pid))
	if err != nil {
		return 0
	}
	_, fields, _ := strings.Cut(string(text), ") ") // behind the name of the program
	for _, field := range strings.Fields(fields)[11:13] {
		n, _ := strconv.ParseInt(field, 10, 64)
		sum += time.Duration(n) * tick
	}
	return sum
}
