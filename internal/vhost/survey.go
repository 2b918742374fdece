package vhost

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// A Survey is a copy of what says where the messages of a vhost go: exchanges, bindings, queues with what they run with and
// how full they are, policies and options. What can be said about all that is found in the copy, so that the vhost serves
// others meanwhile; the same copy gives the same answers. Any goroutine may use it, one at a time. Its tables are shared: do
// not change them.
type Survey struct {
	VHost     string
	Exchanges []SurveyedExchange // by name, the default exchange first
	Queues    []SurveyedQueue    // by name
	Bindings  []topology.Binding // by source

	rules  *Rules
	topo   *topology.Topology // made of the copies; the number of a queue is its place in Queues and 1
	queues map[string]int     // places in Queues, by name
	from   map[string][]int   // places in Bindings, by source
	to     map[string][]int   // likewise by queue

	words   map[string]*firstWords // by exchange, where they were asked for
	keyless map[string]bool        // exchanges that lead all messages to the same queues
	reaches map[reachKey]int
	reached []reach
	targets int             // of reached
	compare int             // so many comparisons of bindings are left
	ways    []way           // of Queues
	senders []letterSenders // to Queues
	loops   []loop
	inLoop  []bool // of Queues
}

// SurveyedExchange is an exchange of a Survey.
type SurveyedExchange struct {
	Name                                   string
	Type                                   string
	Kind                                   topology.ExchangeKind
	Delayed, Durable, AutoDelete, Internal bool
	Alternate                              string
	Scheduled                              int // messages that wait in a delayed one
}

// SurveyedQueue is a queue of a Survey.
type SurveyedQueue struct {
	Object
	Settings               Settings
	Policy, OperatorPolicy string
	Ready, Unacked         int
	Waiting, Held          int
	Bytes                  int64 // of bodies
	Consumers              int
	Full                   bool // it is at its limit
	Refuses                bool // it has no room for a dead letter
}

// Surveying is the making of a Survey, in portions between which the vhost serves others. The zero value begins one.
type Surveying struct {
	made     *Survey
	version  [2]uint64
	again    int
	after    QueueID
	queues   [][]SurveyedQueue    // portions
	bindings [][]topology.Binding // likewise
	names    []string             // of exchanges
	next     int                  // of names
	skip     int                  // bindings of that one that were copied
}

// surveysAgain is how often a survey begins anew because the vhost has changed meanwhile: after that it takes what it gets.
const surveysAgain = 3

// Ruled changes with every change of exchanges, bindings, queues, policies and options: what Findings tell of settings alone
// stays true as long as it stays the same.
func (v *VHost) Ruled() [2]uint64 { return [2]uint64{v.topo.Version(), v.ruleChanges} }

// SurveySome copies up to most queues, exchanges and bindings more, and reports whether there are others.
func (v *VHost) SurveySome(to *Surveying, most int) (more bool) {
	if to.made == nil || to.version != v.Ruled() && to.again < surveysAgain {
		*to = Surveying{made: &Survey{VHost: v.name, rules: v.Rules()}, version: v.Ruled(), again: to.again + 1}
		for x := range v.topo.Exchanges() {
			to.names = append(to.names, x.Name)
		}
	}
	if more, most = v.surveyQueues(to, most); more {
		return true
	}
	to.bindings = append(to.bindings, nil)
	for to.next < len(to.names) {
		if most <= 0 {
			return true
		}
		most -= v.surveyExchange(to, most)
	}
	return false
}

// surveyQueues copies queues, and tells how many more things may be copied.
func (v *VHost) surveyQueues(to *Surveying, most int) (more bool, left int) {
	first, _ := slices.BinarySearchFunc(v.ordered, to.after+1, func(o *queueState, id QueueID) int { return int(int64(o.id) - int64(id)) })
	portion := make([]SurveyedQueue, 0, min(most, len(v.ordered)-first))
	defer func() { to.queues = append(to.queues, portion) }()
	for _, q := range v.ordered[first:] {
		if q.deleted || q.schedule != nil {
			continue
		}
		if most--; most < 0 {
			return true, 0
		}
		to.after = q.id
		m, set := q.messages, q.settings
		counted, bytes := q.counted(queue.Held), q.countedBytes(queue.Held)
		portion = append(portion, SurveyedQueue{
			Object: q.object, Settings: *set, Policy: q.policy, OperatorPolicy: q.operator,
			Ready: m.Ready(), Unacked: m.Unacked(), Waiting: m.Count(queue.Waiting), Held: m.Count(queue.Held),
			Bytes: bytes + m.Bytes(queue.Unacked), Consumers: q.consumers.Len(),
			Full:    set.MaxLength >= 0 && int64(counted) >= set.MaxLength || set.MaxLengthBytes >= 0 && bytes >= set.MaxLengthBytes,
			Refuses: q.refusesBytes(1, true),
		})
	}
	return false, most
}

// surveyExchange copies an exchange, if it has not yet, and bindings of it, and tells how many things that were.
func (v *VHost) surveyExchange(to *Surveying, most int) (n int) {
	x := v.topo.Exchange(to.names[to.next])
	if x == nil {
		to.next++
		return 1
	}
	if to.skip == 0 {
		copied := SurveyedExchange{
			Name: x.Name, Type: x.Type(), Kind: x.Kind, Delayed: x.Delayed, Durable: x.Durable, AutoDelete: x.AutoDelete,
			Internal: x.Internal, Alternate: x.Alternate,
		}
		if q := v.schedules[x.Name]; q != nil {
			copied.Scheduled = q.waiting()
		}
		to.made.Exchanges = append(to.made.Exchanges, copied)
	}
	i, portion := 0, &to.bindings[len(to.bindings)-1]
	for b := range v.topo.BindingsFrom(x.Name) {
		if i++; i <= to.skip {
			continue
		}
		if n++; n > most {
			to.skip = i - 1
			return n
		}
		*portion = append(*portion, b)
	}
	to.next, to.skip = to.next+1, 0
	return n + 1
}

// Survey completes the survey: it finds out where all dead letters go. It takes time, and is not for who runs the vhost.
func (to *Surveying) Survey() *Survey {
	s := to.made
	s.Queues, s.Bindings = slices.Concat(to.queues...), slices.Concat(to.bindings...)
	slices.SortFunc(s.Queues, func(a, b SurveyedQueue) int { return strings.Compare(a.Name, b.Name) })
	s.topo = topology.New()
	for i := range s.Exchanges {
		if x := &s.Exchanges[i]; x.Name != "" {
			s.topo.Declare(topology.Exchange{Name: x.Name, Kind: x.Kind, Delayed: x.Delayed, Alternate: x.Alternate})
		}
	}
	s.words, s.keyless = map[string]*firstWords{}, map[string]bool{}
	s.queues, s.from, s.to = make(map[string]int, len(s.Queues)), map[string][]int{}, map[string][]int{}
	for i := range s.Queues {
		s.queues[s.Queues[i].Name] = i
		s.topo.AddQueue(s.Queues[i].Name, QueueID(i+1))
	}
	for i := range s.Bindings {
		b := &s.Bindings[i]
		s.topo.Bind(*b)
		s.from[b.Source] = append(s.from[b.Source], i)
		if b.ToQueue {
			s.to[b.Destination] = append(s.to[b.Destination], i)
		}
	}
	s.findWays()
	s.findLoops()
	return s
}

// exchange finds an exchange by its name, nil if there is none.
func (s *Survey) exchange(name string) *SurveyedExchange {
	i, ok := slices.BinarySearchFunc(s.Exchanges, name, func(x SurveyedExchange, name string) int { return strings.Compare(x.Name, name) })
	if !ok {
		return nil
	}
	return &s.Exchanges[i]
}
