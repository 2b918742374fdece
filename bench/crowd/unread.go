package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// unreadFor is for how long clients that read nothing stay.
const unreadFor = 8 * time.Second

// bind binds every queue to one exchange.
func (b *bench) bind() error {
	return b.each(func(ch *amqp.Channel, k int) error {
		if err := ch.ExchangeDeclare("orders", "topic", true, false, false, false, nil); err != nil {
			return err
		}
		for i := k; i < b.queues; i += b.connections {
			name := fmt.Sprintf("orders.customer-%06d", i)
			if err := ch.QueueBind(name, name, "orders", false, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// consume opens connections with channels and consumers, a consumer for each queue, and leaves them open.
func (b *bench) consume() error {
	const channels = 20
	for k := range b.clients {
		conn, err := amqp.Dial(b.url)
		if err != nil {
			return err
		}
		for c := range channels {
			ch, err := conn.Channel()
			if err != nil {
				return err
			}
			for i := k*channels + c; i < b.queues; i += b.clients * channels {
				if _, err := ch.Consume(fmt.Sprintf("orders.customer-%06d", i), "", false, false, false, false, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// each runs do with a channel of each of the connections at the same time.
func (b *bench) each(do func(ch *amqp.Channel, k int) error) error {
	errs := make([]error, b.connections)
	var wait sync.WaitGroup
	for k := range b.connections {
		wait.Go(func() {
			conn, err := amqp.Dial(b.url)
			if err != nil {
				errs[k] = err
				return
			}
			defer conn.Close()
			ch, err := conn.Channel()
			if err == nil {
				err = do(ch, k)
			}
			errs[k] = err
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// unread has many clients ask for each of the long lists at the same time, and read nothing of the answers.
// It prints how much memory the broker had at the most meanwhile.
func (b *bench) unread() error {
	for _, address := range []string{
		b.management + "/api/queues", b.management + "/api/queues?sort=messages", b.management + "/api/queues?sort=arguments",
		b.management + "/api/bindings", b.management + "/api/definitions",
		b.metrics + "/metrics", b.metrics + "/metrics/per-object", b.metrics + "/metrics/detailed?family=queue_coarse_metrics",
		b.management + "/api/connections", b.management + "/api/channels", b.management + "/api/consumers",
	} {
		if err := b.unreadAt(address); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) unreadAt(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	if err := b.resetPeak(); err != nil {
		return err
	}
	before, _ := b.resident()
	cpu, until := b.cpu(), time.Now().Add(unreadFor)
	var answered, closed atomic.Int64
	var wait sync.WaitGroup
	for range b.clients {
		wait.Go(func() {
			switch begun, gone := readNothing("GET", u, until); {
			case gone:
				closed.Add(1)
			case begun:
				answered.Add(1)
			}
		})
	}
	wait.Wait()
	peak, err := b.peak()
	fmt.Printf("| %d clients read nothing of %s | %d KiB before, %d KiB at the most | CPU %.1f s; %d answered, %d closed |\n",
		b.clients, u.RequestURI(), before>>10, peak>>10, (b.cpu() - cpu).Seconds(), answered.Load(), closed.Load())
	if err == nil && peak > residentMax {
		err = fmt.Errorf("%d KiB were resident, the goal is %d", peak>>10, residentMax>>10)
	}
	return err
}

// readNothing sends a request, and reads no more of the answer than that it has begun. It stays until
// that moment, and reports whether the answer has begun, or the broker has closed the connection before.
func readNothing(method string, u *url.URL, until time.Time) (begun, closed bool) {
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return false, false
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	password := base64.StdEncoding.EncodeToString([]byte("guest:guest"))
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\nAccept-Encoding: identity\r\n\r\n",
		method, u.RequestURI(), u.Host, password)
	_ = conn.SetReadDeadline(until)
	line, err := bufio.NewReaderSize(conn, 16).ReadString(' ')
	time.Sleep(time.Until(until))
	return err == nil && strings.HasPrefix(line, "HTTP"), err != nil && !os.IsTimeout(err)
}

// resetPeak sets the peak back to what is resident now.
func (b *bench) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", b.pid), []byte("5"), 0)
}

// peak is the most memory that the broker had resident since clear_refs, bytes.
func (b *bench) peak() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	return kib << 10, err
}
