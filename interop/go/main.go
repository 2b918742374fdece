// Command go runs amqp091-go, unmodified, against a broker: dead letters, confirms, returns, prefetch, cancellation,
// delayed messages, and what frameworks of other languages do to delay and to park messages, operation by operation.
//
// The broker is the one that AMQP_URL names. It prints a line per check and ends with "N passed, N failed", and with a
// status other than 0 if one failed. PRODUCT=rabbitmq-4 holds the broker to what RabbitMQ does since version 4, and
// PRODUCT=bartleby also to what Bartleby adds.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A check is one thing a client relies on.
type check struct {
	name string
	run  func(*session) error
	ours bool // only Bartleby promises it
}

// groups run beside each other, because most of them wait for the clock. The checks of one group run one after the
// other: those of a framework share its fixed names of queues and exchanges.
var groups = [][]check{
	{
		{"reject reaches dead-letter queue", rejectReachesDeadLetterQueue, false},
		{"requeue is no death", requeueIsNoDeath, false},
		{"own expiration", ownExpiration, false},
		{"queue TTL", queueTTL, false},
		{"maxlen drops the oldest", maxlenDropsOldest, false},
		{"confirms", confirms, false},
		{"mandatory returns", mandatoryReturns, false},
		{"prefetch", prefetch, false},
		{"queue delete cancels consumer", queueDeleteCancelsConsumer, false},
	},
	{
		{"delayed messages are a plugin that is enabled", delayedPlugin, true},
		{"delayed messages", delayedMessages, true},
		{"delayed retry", delayedRetry, true},
		{"delayed mandatory", delayedMandatory, true},
		{"delayed nonsense", delayedNonsense, true},
		{"delivery time", deliveryTime, true},
	},
	{
		{"symfony delays", symfonyDelays, false},
		{"symfony retries", symfonyRetries, false},
		{"symfony renews the lease of a delay queue", symfonyRenewsLease, false},
	},
	{
		{"laravel delays and renews the lease", laravelDelays, false},
		{"laravel releases and fails", laravelReleasesAndFails, false},
		{"laravel with another delay queue of the name", laravelOtherArguments, false},
	},
	{
		{"nservicebus delays", nservicebusDelays, false},
		{"nservicebus holds messages for an endpoint to come", nservicebusHolds, true},
	},
	{{"nservicebus 6 delays", nservicebus6Delays, false}},
	{
		{"nservicebus verifies the broker", nservicebusVerifiesBroker, false},
		{"nservicebus lifts the delivery limit", nservicebusLiftsDeliveryLimit, false},
	},
	{
		{"masstransit moves faults", masstransitMovesFaults, false},
		{"masstransit skips", masstransitSkips, false},
		{"masstransit dead-letter queue", masstransitDeadLetterQueue, false},
		{"masstransit quorum redelivery", masstransitQuorumRedelivery, false},
		{"masstransit delayed redelivery", masstransitDelayedRedelivery, true},
	},
}

// The broker is held to Bartleby's own promises, and to what RabbitMQ does since its version 4.
var (
	bartleby = os.Getenv("PRODUCT") == "bartleby"
	series4  = bartleby || os.Getenv("PRODUCT") == "rabbitmq-4"
)

func main() {
	url := cmp.Or(os.Getenv("AMQP_URL"), "amqp://guest:guest@127.0.0.1:5672/")
	passed, failed := 0, 0
	results := make(chan error)
	var running sync.WaitGroup
	for _, group := range groups {
		running.Go(func() {
			for _, c := range group {
				if c.ours && !bartleby {
					fmt.Printf("left out: %s, which only Bartleby promises\n", c.name)
					continue
				}
				results <- report(url, c)
			}
		})
	}
	go func() {
		running.Wait()
		close(results)
	}()
	for err := range results {
		if err != nil {
			failed++
		} else {
			passed++
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// report runs a check and says in one line how it went.
func report(url string, c check) error {
	begun := time.Now()
	err := runCheck(url, c)
	if err != nil {
		fmt.Printf("FAILED  %s: %v\n", c.name, err)
	} else {
		fmt.Printf("ok      %s (%.2f s)\n", c.name, time.Since(begun).Seconds())
	}
	return err
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
