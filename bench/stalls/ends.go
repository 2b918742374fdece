package main

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// What a connection of the crowd holds, whose process is killed.
const (
	heldQueues  = 5
	heldUnacked = 150
	sharedQueue = "crowd"
)

// The crowd is of another user than what is measured.
const crowd = "crowd"

// startCrowd starts a process whose connections hold messages of their exclusive queues, and returns when all do.
func (b *bench) startCrowd() error { return b.startHolding() }

// startSharing is startCrowd with one queue for all: what an end gives back can go to those whose end is to come.
func (b *bench) startSharing() error { return b.startHolding("-shared") }

func (b *bench) startHolding(flags ...string) (err error) {
	ctx, broker := context.Background(), b.api()
	if _, err := broker.Put(ctx, map[string]any{"password": crowd, "tags": ""}, "users", crowd); err != nil {
		return err
	}
	all := map[string]any{"configure": ".*", "write": ".*", "read": ".*"}
	if _, err := broker.Put(ctx, all, "permissions", "/", crowd); err != nil {
		return err
	}
	u, err := url.Parse(b.url)
	if err != nil {
		return err
	}
	u.User = url.UserPassword(crowd, crowd)
	b.held = exec.Command(os.Args[0], append(flags, "-url", u.String(), "-hold", fmt.Sprint(b.ends))...)
	b.held.Stderr = os.Stderr
	out, err := b.held.StdoutPipe()
	if err != nil {
		return err
	}
	if err := b.held.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return err
}

// killCrowd ends all its connections at once.
func (b *bench) killCrowd() error {
	if err := b.held.Process.Kill(); err != nil {
		return err
	}
	_ = b.held.Wait() // its error is that it was killed
	return nil
}

// hold is the process of the crowd: n connections, each with queues of its own or all with one queue, until it is
// killed.
func hold(url string, n int, shared bool) error {
	errs := make(chan error, n)
	few := make(chan struct{}, 20)
	var came sync.WaitGroup
	came.Add(n * heldUnacked)
	one := func() error {
		few <- struct{}{}
		defer func() { <-few }()
		conn, err := amqp.Dial(url)
		if err != nil {
			return err
		}
		ch, err := conn.Channel()
		if err != nil {
			return err
		}
		if shared {
			return holdOf(ch, sharedQueue, false, heldUnacked, &came)
		}
		for range heldQueues {
			if err := holdOf(ch, "", true, heldUnacked/heldQueues, &came); err != nil {
				return err
			}
		}
		return nil
	}
	for range n {
		go func() { errs <- one() }()
	}
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	came.Wait()
	fmt.Println("all hold")
	select {}
}

// holdOf publishes n messages to a queue and consumes it without a limit and without acks.
func holdOf(ch *amqp.Channel, name string, exclusive bool, n int, came *sync.WaitGroup) error {
	q, err := ch.QueueDeclare(name, false, false, exclusive, false, nil)
	if err != nil {
		return err
	}
	deliveries, err := ch.Consume(q.Name, "", false, exclusive, false, false, nil)
	if err != nil {
		return err
	}
	go func() {
		for range deliveries {
			came.Done()
		}
	}()
	for range n {
		m := amqp.Publishing{Body: []byte("sixteen octets..")}
		if err := ch.PublishWithContext(context.Background(), "", q.Name, false, false, m); err != nil {
			return err
		}
	}
	return nil
}
