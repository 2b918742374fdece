// Package lint finds out where the messages of a virtual host go, and what is wrong with that: the topology graph, the
// paths of a message on each event, and findings. It works on a vhost.Snapshot, beside the machine: a look at a large
// topology takes time that nobody waits for. What the machine would do with a message it asks the rules that the
// machine uses.
package lint

import (
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/topology"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// An Analysis is what a snapshot says about the way of messages. The same snapshot gives the same answers. Any
// goroutine may use it, one at a time.
type Analysis struct {
	*vhost.Snapshot

	options vhost.Options
	topo    *topology.Topology // made of the copies; the number of a queue is its place in Queues and 1
	queues  map[string]int     // places in Queues, by name
	from    map[string][]int   // places in Bindings, by source
	to      map[string][]int   // likewise by queue

	words   map[string]*firstWords // by exchange, where they were asked for
	keyless map[string]bool        // exchanges that lead all messages to the same queues
	reaches map[reachKey]int
	reached []reach
	targets int                 // of reached
	compare int                 // so many comparisons of bindings are left
	ways    []way               // of Queues
	senders []deadLetterSenders // to Queues
	loops   []loop
	inLoop  []bool // of Queues
	roles   []Role // of Queues
}

// Analyze finds out where all dead letters go. It takes time, and is not for the goroutine that runs the virtual host.
func Analyze(of *vhost.Snapshot) *Analysis {
	s := &Analysis{Snapshot: of, options: of.Rules.Options(), topo: topology.New()}
	for i := range s.Exchanges {
		if x := &s.Exchanges[i]; x.Name != "" {
			s.topo.Declare(topology.Exchange{Name: x.Name, Kind: x.Kind, Delayed: x.Delayed, Alternate: x.Alternate})
		}
	}
	s.words, s.keyless = map[string]*firstWords{}, map[string]bool{}
	s.queues, s.from, s.to = make(map[string]int, len(s.Queues)), map[string][]int{}, map[string][]int{}
	for i := range s.Queues {
		s.queues[s.Queues[i].Name] = i
		s.topo.AddQueue(s.Queues[i].Name, topology.QueueID(i+1))
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
	all := s.deadLetterGraph(false)
	s.findLoops(all, s.deadLetterGraph(true))
	s.roles = all.Roles()
	return s
}

// Role is what a queue is for dead letters of others; of one that does not exist there is none.
func (s *Analysis) Role(queue string) Role {
	i, there := s.queues[queue]
	if !there {
		return RoleNone
	}
	return s.roles[i]
}

// exchange finds an exchange by its name, nil if there is none.
func (s *Analysis) exchange(name string) *vhost.SnapshotExchange {
	i, ok := slices.BinarySearchFunc(s.Exchanges, name, func(x vhost.SnapshotExchange, name string) int { return strings.Compare(x.Name, name) })
	if !ok {
		return nil
	}
	return &s.Exchanges[i]
}

func hasDLX(set *vhost.Settings) bool {
	_, has := set.DLX()
	return has
}

func hasDLRK(set *vhost.Settings) bool {
	_, has := set.DLRK()
	return has
}
