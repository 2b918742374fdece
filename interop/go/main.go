// Command go runs amqp091-go, unmodified, against a broker: dead letters, confirms, returns, prefetch, cancellation.
//
// The broker is the one that AMQP_URL names. It prints a line per check and ends with "N passed, N failed", and with a
// status other than 0 if one failed. PRODUCT=bartleby holds the broker to what Bartleby adds.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A check is one thing a client relies on.
type check struct {
	name string
	run  func(*session) error
}

var checks = []check{
	{"reject reaches dead-letter queue", rejectReachesDeadLetterQueue},
	{"requeue is no death", requeueIsNoDeath},
	{"own expiration", ownExpiration},
	{"queue TTL", queueTTL},
	{"maxlen drops the oldest", maxlenDropsOldest},
	{"confirms", confirms},
	{"mandatory returns", mandatoryReturns},
	{"prefetch", prefetch},
	{"queue delete cancels consumer", queueDeleteCancelsConsumer},
}

func main() {
	url := cmp.Or(os.Getenv("AMQP_URL"), "amqp://guest:guest@127.0.0.1:5672/")
	failed := 0
	for _, c := range checks {
		begun := time.Now()
		if err := runCheck(url, c); err != nil {
			failed++
			fmt.Printf("FAILED  %s: %v\n", c.name, err)
			continue
		}
		fmt.Printf("ok      %s (%.2f s)\n", c.name, time.Since(begun).Seconds())
	}
	fmt.Printf("%d passed, %d failed\n", len(checks)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// runCheck gives a check a connection of its own. A client that panics on what the broker sent fails the check.
func runCheck(url string, c check) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	connection, err := amqp.Dial(url)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer connection.Close()
	s, err := newSession(connection, c.name)
	if err != nil {
		return err
	}
	return errors.Join(c.run(s), s.clean())
}
