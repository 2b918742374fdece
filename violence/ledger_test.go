//go:build linux

package violence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// An id is in the body of a message and says which it is; no two are alike.
type id uint64

// body is what a message of this id carries: the id, then bytes that follow from it. Most are small, some are large.
func (i id) body() []byte {
	h := uint64(i) * 0x9e3779b97f4a7c15 >> 32
	size := 32 + int(h%480)
	switch {
	case h>>16%1024 == 0:
		size = 300 << 10 // more than one frame
	case h>>16%64 == 1:
		size = 20 << 10
	}
	b := bytes.Repeat([]byte{byte(i)}, 8+size)
	binary.BigEndian.PutUint64(b, uint64(i))
	return b
}

// idOf reads an id back, and tells whether the body is whole.
func idOf(body []byte) (id, error) {
	if len(body) < 8 {
		return 0, fmt.Errorf("a body of %d bytes", len(body))
	}
	i := id(binary.BigEndian.Uint64(body))
	if !bytes.Equal(body, i.body()) {
		return i, fmt.Errorf("message %d came back with another body", i)
	}
	return i, nil
}

// known is what clients were told of a message, and what they did to it.
type known uint32

const (
	confirmed       known = 1 << iota // the publisher has the confirm
	refused                           // the publisher has a nack
	handed                            // a consumer of the source had it
	handedSafe                        // and something later than that was confirmed
	acked                             // by a consumer of the source
	ackedSafe                         // and something later was answered
	rejected                          // by a consumer of the source, without requeue
	rejectedSafe                      // and something later was answered
	letter                            // a consumer of the letters had it
	letterAcked                       // by that consumer
	letterAckedSafe                   // and something later was answered

	// What the last audit found. None of them: there was none since the message was published.
	wasSource
	wasLetters
	wasGone

	audited = wasSource | wasLetters | wasGone
)

// A sighting is one copy of a message that an audit found.
type sighting struct {
	letters     bool // among the dead letters, else in the source
	redelivered bool
	death       string // "" if the broker noted the right one
}

// judge says what is wrong with what an audit after a crash found of one message, "" if nothing.
func (s *shape) judge(k known, seen []sighting) string {
	// A delivery waits until the disk has the message, as a confirm does: whoever was told of it may rely on it.
	exists := k&(letter|wasLetters) != 0 || k&rejectedSafe != 0 ||
		!s.volatile && k&(confirmed|handed|wasSource) != 0
	gone := k&(acked|letterAcked|wasGone) != 0
	mustBeGone := k&(ackedSafe|letterAckedSafe|wasGone|refused) != 0
	switch {
	case len(seen) == 0 && exists && !gone:
		return "lost"
	case len(seen) == 0:
		return ""
	case len(seen) > 1:
		return fmt.Sprintf("there are %d copies: %+v", len(seen), seen)
	case mustBeGone:
		return "came back"
	}
	at := seen[0]
	if at.letters {
		switch {
		case k&acked != 0 && k&(rejected|letter|wasLetters) == 0:
			return "died after it was acked"
		case s.rejects && k&(rejected|letter|wasLetters) == 0:
			return "died and nobody rejected it"
		case at.death != "":
			return at.death
		case at.redelivered && k&(audited|letter) == 0 && !s.lettersRead:
			return "a letter that nobody had is marked redelivered"
		case !at.redelivered && k&wasLetters != 0:
			return "a letter that an audit had is not marked redelivered"
		}
		return ""
	}
	switch {
	case k&(letter|wasLetters|rejectedSafe) != 0:
		return "is in its source again after its death"
	case !at.redelivered && k&(handedSafe|wasSource) != 0:
		return "was handed over before and is not marked redelivered"
	case at.redelivered && k&(audited|handed) == 0 && !s.read:
		return "was never handed over and is marked redelivered"
	}
	return ""
}

// A ledger keeps what is known of the messages of one shape.
type ledger struct {
	mu struct {
		sync.Mutex
		known map[id]known
	}
}

func newLedger() *ledger {
	l := &ledger{}
	l.mu.known = map[id]known{}
	return l
}

// note adds to what is known of messages. They need not be known before.
func (l *ledger) note(k known, ids ...id) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range ids {
		l.mu.known[i] |= k
	}
}

// An account sums up what an audit found.
type account struct {
	published, confirmed int // since the last audit
	source, letters      int // copies there are
	faults               []string
}

func (a *account) add(b account) {
	a.published += b.published
	a.confirmed += b.confirmed
	a.source += b.source
	a.letters += b.letters
}

// close judges every message by what an audit found, and turns to a new page: from now on the audit's word counts.
func (l *ledger) close(s *shape, seen map[id][]sighting) (a account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range seen {
		if _, ok := l.mu.known[i]; !ok {
			a.faults = append(a.faults, fmt.Sprintf("%s: message %d was never published", s.name, i))
		}
	}
	for i, k := range l.mu.known {
		at := seen[i]
		if wrong := s.judge(k, at); wrong != "" {
			a.faults = append(a.faults, fmt.Sprintf("%s: message %d (known %b) %s", s.name, i, k, wrong))
		}
		if k&audited == 0 {
			a.published++
			if k&confirmed != 0 {
				a.confirmed++
			}
		}
		switch {
		case len(at) == 0:
			l.mu.known[i] = wasGone
		case at[0].letters:
			l.mu.known[i] = wasLetters
			a.letters++
		default:
			l.mu.known[i] = wasSource
			a.source++
		}
	}
	return a
}

// drained turns to a page on which everything is gone.
func (l *ledger) drained() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.mu.known {
		l.mu.known[i] = wasGone
	}
}

// sight reads one message that an audit found.
func (s *shape) sight(d *amqp.Delivery, letters bool) (id, sighting, error) {
	i, err := idOf(d.Body)
	if err != nil {
		return i, sighting{}, err
	}
	at := sighting{letters: letters, redelivered: d.Redelivered}
	if letters {
		at.death = s.wrongDeath(d)
	}
	return i, at, nil
}

// wrongDeath says what is wrong with x-death, "" if nothing.
func (s *shape) wrongDeath(d *amqp.Delivery) string {
	deaths, _ := d.Headers["x-death"].([]any)
	if len(deaths) != 1 {
		return fmt.Sprintf("has %d deaths", len(deaths))
	}
	death, _ := deaths[0].(amqp.Table)
	if death["queue"] != s.name || death["reason"] != s.reason || death["count"] != int64(1) {
		return fmt.Sprintf("died in %v, %v, %v times", death["queue"], death["reason"], death["count"])
	}
	return ""
}

// TestKillLedger proves that the judgement can find fault; if it fails, the kill tests show nothing.
func TestKillLedger(t *testing.T) {
	t.Parallel()
	work := &shape{name: "work", read: true}
	reject := &shape{name: "reject", read: true, rejects: true, reason: "rejected"}
	expire := &shape{name: "expire", reason: "expired"}
	volatile := &shape{name: "volatile", volatile: true, read: true, rejects: true, reason: "rejected"}
	source, again := sighting{}, sighting{redelivered: true}
	dead, deadAgain := sighting{letters: true}, sighting{letters: true, redelivered: true}
	for _, c := range []struct {
		what string
		s    *shape
		k    known
		seen []sighting
		ok   bool
	}{
		{"confirmed and there", work, confirmed, []sighting{source}, true},
		{"confirmed and lost", work, confirmed, nil, false},
		{"not confirmed, not there", work, 0, nil, true},
		{"not confirmed, there", work, 0, []sighting{source}, true},
		{"refused and there", work, refused, []sighting{source}, false},
		{"delivered and lost", work, handed, nil, false},
		{"acked and gone", work, confirmed | handed | acked, nil, true},
		{"acked and back", work, confirmed | handed | acked, []sighting{again}, true},
		{"acked for certain and back", work, confirmed | handed | acked | ackedSafe, []sighting{again}, false},
		{"handed for certain and not marked", work, confirmed | handed | handedSafe, []sighting{source}, false},
		{"handed and not marked", work, confirmed | handed, []sighting{source}, true},
		{"gone before and back", work, wasGone, []sighting{again}, false},
		{"audited and lost", work, wasSource, nil, false},
		{"audited and not marked", work, wasSource, []sighting{source}, false},
		{"rejected and dead", reject, confirmed | handed | rejected, []sighting{dead}, true},
		{"rejected and back", reject, confirmed | handed | rejected, []sighting{again}, true},
		{"rejected for certain and back", reject, confirmed | handed | rejected | rejectedSafe, []sighting{again}, false},
		{"rejected and in both", reject, confirmed | handed | rejected, []sighting{again, dead}, false},
		{"rejected and doubled", reject, confirmed | handed | rejected, []sighting{dead, dead}, false},
		{"rejected and lost", reject, confirmed | handed | rejected, nil, false},
		{"nobody rejected it and dead", reject, confirmed | handed, []sighting{dead}, false},
		{"acked and dead", reject, confirmed | handed | acked, []sighting{dead}, false},
		{"seen dead and back", reject, confirmed | rejected | letter, []sighting{again}, false},
		{"letter acked and gone", reject, confirmed | rejected | letter | letterAcked, nil, true},
		{"letter acked for certain and there", reject, confirmed | rejected | letter | letterAcked | letterAckedSafe, []sighting{deadAgain}, false},
		{"expired", expire, confirmed, []sighting{dead}, true},
		{"expired with a wrong death", expire, confirmed, []sighting{{letters: true, death: "died of boredom"}}, false},
		{"expired and marked", expire, confirmed, []sighting{deadAgain}, false},
		{"never handed and marked", expire, confirmed, []sighting{again}, false},
		{"volatile and lost", volatile, confirmed | handed, nil, true},
		{"volatile, rejected and lost", volatile, confirmed | handed | rejected, nil, true},
		{"volatile, rejected for certain and lost", volatile, confirmed | handed | rejected | rejectedSafe, nil, false},
		{"volatile, dead and lost", volatile, rejected | letter, nil, false},
		{"volatile, dead and there", volatile, rejected | letter, []sighting{deadAgain}, true},
	} {
		if wrong := c.s.judge(c.k, c.seen); (wrong == "") != c.ok {
			t.Errorf("%s: judged %q", c.what, wrong)
		}
	}
	l := newLedger()
	l.note(confirmed, 1)
	if a := l.close(work, map[id][]sighting{1: {source}, 2: {source}}); len(a.faults) != 1 || a.confirmed != 1 || a.source != 1 {
		t.Errorf("a message that nobody published was not noticed: %+v", a)
	}
	body := id(7).body()
	body[len(body)-1]++
	if _, err := idOf(body); err == nil {
		t.Error("a body with a wrong byte was not noticed")
	}
}
