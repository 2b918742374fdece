package management

import (
	"context"
	"strconv"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// punctuality is how well a virtual host keeps its deadlines, and what waits in its delayed exchanges.
type punctuality struct {
	vhost     string
	lateness  vhost.Lateness
	overdue   float64 // seconds
	schedules []vhost.ScheduleView
	horizon   [len(vhost.HorizonBounds) + 1]int
}

func (s *Server) punctuality(ctx context.Context, hosts []*access.VHost) (all []punctuality) {
	now := map[string]int64{} // ms, in the time of each
	for _, t := range s.engine.Time().VHosts {
		now[t.VHost] = t.Now.UnixMilli()
	}
	for _, h := range hosts {
		p := punctuality{vhost: h.Name}
		err := s.engine.Look(ctx, h.Name, func(v *vhost.VHost) {
			at := vhost.Instant(now[h.Name])
			if due, ok := v.Due(); ok {
				p.overdue = float64(max(at-due, 0)) / 1000
			}
			p.lateness, p.schedules, p.horizon = v.Lateness(), v.Schedules(), v.Horizon(at)
		})
		if err != nil {
			s.options.Log.Debug("punctuality not read", "vhost", h.Name, "error", err)
			continue
		}
		all = append(all, p)
	}
	return all
}

// timeMetrics shows how late things happened that were due, and what waits. Source: ours, reference metrics 6.
func (s *Server) timeMetrics(ctx context.Context, x *exposition, hosts []*access.VHost) {
	all := s.punctuality(ctx, hosts)
	const name = "bartleby_lateness_seconds"
	x.family(name, "histogram", "How long after their instants messages expired (ttl), were fired (delay) or came back (retry), and unused queues were deleted (expires)")
	for i := range all {
		for k := range vhost.LateKinds {
			x.lateness(name, &all[i], k)
		}
	}
	x.family("bartleby_overdue_seconds", gauge, "For how long the earliest deadline that has not been met is due")
	for i := range all {
		x.add("bartleby_overdue_seconds", all[i].overdue, "vhost", all[i].vhost)
	}
	each := func(name, help string, value func(vhost.ScheduleView) int64) {
		x.family(name, gauge, help)
		for i := range all {
			sum := int64(0)
			for _, view := range all[i].schedules {
				sum += value(view)
			}
			x.add(name, sum, "vhost", all[i].vhost)
		}
	}
	each("bartleby_delayed_messages", "Messages that wait in delayed exchanges", func(v vhost.ScheduleView) int64 { return int64(v.Messages) })
	each("bartleby_delayed_bytes", "Bodies of the messages that wait in delayed exchanges, bytes", func(v vhost.ScheduleView) int64 { return v.Bytes })
	each("bartleby_delayed_orphans", "Messages that wait although their delayed exchange is gone", func(v vhost.ScheduleView) int64 {
		if v.Orphan {
			return int64(v.Messages)
		}
		return 0
	})
	const within = "bartleby_delayed_due_within"
	x.family(within, gauge, "Messages that wait in delayed exchanges by when they are due, each in the first window that has it; estimated where many wait")
	for i := range all {
		for k, n := range all[i].horizon {
			x.add(within, n, "vhost", all[i].vhost, "window", windows[k])
		}
	}
}

// windows name what vhost.Horizon counts.
var windows = [len(vhost.HorizonBounds) + 1]string{"1m", "1h", "1d", "30d", "later"}

// lateness writes the series of one histogram.
func (x *exposition) lateness(name string, p *punctuality, k vhost.LateKind) {
	counts := p.lateness.Buckets[k]
	total := uint64(0)
	for i, n := range counts {
		bound := "+Inf"
		if i < len(vhost.LateBounds) {
			bound = strconv.FormatFloat(float64(vhost.LateBounds[i])/1000, 'g', -1, 64)
		}
		total += n
		x.add(name+"_bucket", total, "vhost", p.vhost, "kind", k.String(), "le", bound)
	}
	x.add(name+"_sum", float64(p.lateness.Sum[k])/1000, "vhost", p.vhost, "kind", k.String())
	x.add(name+"_count", total, "vhost", p.vhost, "kind", k.String())
}
