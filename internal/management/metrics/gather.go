package metrics

import (
	"context"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

// gathered is what a page of metrics shows.
type gathered struct {
	server  *Server
	hosts   []*stats.VHost // by name
	sum     stats.VHost    // of all, and of virtual hosts that are no more
	churn   engine.Churn
	live    []stats.Connection
	storage engine.Storage
}

// gather reads all that a page may show, virtual host by virtual host and in portions.
func (s *Server) gather(ctx context.Context, d stats.Detail) *gathered {
	g := &gathered{server: s, churn: s.Engine.Churn(), live: s.from.Roster.Connections()}
	soon, cancel := context.WithTimeout(ctx, stats.GatherWithin)
	defer cancel()
	g.storage = s.Engine.Storage(soon)
	retired := s.Engine.Retired()
	g.sum.Traffic, g.sum.Types = retired.Traffic, stats.ByType{}
	g.sum.Types.AddAll(retired.Queues)
	clock := s.from.Reader.Clocks()
	for _, h := range s.Engine.Accounts().VHosts() {
		if d.VHosts != nil && !d.VHosts(h.Name) {
			continue
		}
		f := s.from.Reader.ReadOrLast(soon, h, d, clock[h.Name])
		f.Labels = labelled("vhost", f.Name)
		for i := range f.Rows {
			f.Rows[i].Labels = labelled("vhost", f.Name, "queue", f.Rows[i].Name)
		}
		g.hosts = append(g.hosts, f)
		g.sum.Add(f)
	}
	s.from.Reader.Forget(s.Engine.Accounts().VHosts())
	slices.SortFunc(g.hosts, func(a, b *stats.VHost) int { return strings.Compare(a.Name, b.Name) })
	sum := g.sum.Types.Sum()
	g.sum.Total.Stats = &sum
	return g
}
