package settings

import (
	"errors"
	"fmt"
	wide "math/bits"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/duration"
	"github.com/bartleby-mq/bartleby/internal/fullwidth"
)

// Backoff is how the wait of a message grows that comes back again and again. Source: linear is RabbitMQ 4.3's,
// docs/compat/quorum-and-retry.md#6; the others are ours.
type Backoff uint8

// The backoffs, for the n-th return.
const (
	Linear      Backoff = iota // n times the least
	Fixed                      // the least
	Exponential                // the least, doubled n-1 times
)

// backoffNames are the backoffs in arguments, in the order of the constants.
var backoffNames = []string{"linear", "fixed", "exponential"}

func (b Backoff) String() string { return backoffNames[b] }

const (
	retryStepsMax  = 64
	retryJitterMax = 100
)

// parseSteps reads a list of waits such as 10m,30m,1h, in ms.
func parseSteps(text string) (steps []int64, err error) {
	for _, r := range text {
		if r == '、' {
			return nil, errors.New("'、' does not separate steps: write ','")
		}
		if narrow := fullwidth.Fold(r); narrow != r {
			return nil, fmt.Errorf("'%c' is a full-width character: write '%c'", r, narrow)
		}
	}
	for step := range strings.SplitSeq(text, ",") {
		step = strings.TrimSpace(step)
		ms, err := duration.Milliseconds(step)
		switch {
		case err != nil:
			return nil, err
		case ms < 1 || ms > WaitMax:
			return nil, fmt.Errorf("'%s' is not between 1ms and ten years", step)
		case len(steps) == retryStepsMax:
			return nil, fmt.Errorf("there are more than %d steps", retryStepsMax)
		}
		steps = append(steps, ms)
	}
	return steps, nil
}

// storedSteps reads steps that were accepted. Earlier versions accepted numbers without a unit, which are ms.
func storedSteps(text string) []int64 {
	all := strings.Split(text, ",")
	for i, step := range all {
		if step = strings.TrimSpace(step); strings.Trim(step, "0123456789") == "" {
			all[i] = step + "ms"
		}
	}
	steps, err := parseSteps(strings.Join(all, ","))
	if err != nil {
		return nil
	}
	return steps
}

// Exhausted reports whether a message has come back more often than it may wait.
func (s *Settings) Exhausted(count uint32) bool {
	return s.RetryType != RetryDisabled && s.RetryAttempts > 0 && int64(count) > s.RetryAttempts
}

// ReturnLimit is the number of returns that a message survives; -1 is any.
func (s *Settings) ReturnLimit() int64 {
	attempts := int64(-1)
	if s.RetryType != RetryDisabled && s.RetryAttempts > 0 {
		attempts = s.RetryAttempts
	}
	switch {
	case s.DeliveryLimit < 0:
		return attempts
	case attempts < 0:
		return s.DeliveryLimit
	}
	return min(s.DeliveryLimit, attempts)
}

// RetryAt is the instant until which a returned message waits, 0 if it does not. chance is fresh bits.
// Source: docs/compat/quorum-and-retry.md#6.
func (s *Settings) RetryAt(from deadline.Instant, failed bool, count uint32, chance uint64) deadline.Instant {
	switch {
	case s.RetryType == RetryDisabled, s.RetryMin <= 0 && len(s.RetrySteps) == 0:
		return 0
	case s.RetryType == RetryFailed && !failed, s.RetryType == RetryReturned && failed:
		return 0
	}
	wait := s.wait(int64(max(count, 1)))
	if s.RetryJitter > 0 {
		more, _ := wide.Mul64(uint64(wait*s.RetryJitter/100+1), mix(chance))
		wait += int64(more)
	}
	return from + deadline.Instant(min(wait, WaitMax))
}

// wait is for how long a message waits that comes back for the n-th time, ms.
func (s *Settings) wait(n int64) int64 {
	if k := int64(len(s.RetrySteps)); k > 0 {
		return s.RetrySteps[min(n, k)-1]
	}
	least, most := s.RetryMin, s.RetryMax
	switch {
	case most <= 0 && s.RetryBackoff == Exponential:
		most = WaitMax
	case most <= 0:
		most = least
	}
	switch {
	case s.RetryBackoff == Fixed:
		return least
	case s.RetryBackoff == Exponential && n-1 < 62 && least <= most>>(n-1):
		return least << (n - 1)
	case s.RetryBackoff == Linear && n <= most/least:
		return least * n
	}
	return most
}

// TotalWait is for how long a message waits in all that comes back so often, ms. What is longer than any TTL is not
// summed up.
func (s *Settings) TotalWait(returns int64) (sum int64) {
	for n := int64(1); n <= min(returns, retryStepsMax) && sum <= WaitMax; n++ {
		sum += s.wait(n)
	}
	return sum
}

// mix spreads bits. Source: splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
