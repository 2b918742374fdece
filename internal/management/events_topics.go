package management

import (
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// queueDigest changes when what lists of queues show does: whoever shows some asks for those again.
type queueDigest struct {
	Queues    int   `json:"queues"`
	Consumers int   `json:"consumers"`
	Ready     int   `json:"ready"`
	Unacked   int   `json:"unacked"`
	Aside     int   `json:"aside"` // waiting or held
	Moved     int64 `json:"moved"` // messages published, delivered and settled
}

func (s *Server) getQueueDigest(r *web.Request) (web.Answer, error) {
	var d queueDigest
	for _, h := range r.VisibleVHosts() {
		if r.IsDown(h.Name) {
			continue
		}
		t := s.reader.Sum(r.Context(), h)
		all := t.Stats.Sum()
		d.Queues, d.Consumers = d.Queues+t.Queues, d.Consumers+t.Consumers
		d.Ready, d.Unacked, d.Aside = d.Ready+t.Ready, d.Unacked+t.Unacked, d.Aside+t.Waiting+t.Held.Sum()
		d.Moved += int64(all.Published + all.Delivered + all.Got + all.Acked)
	}
	return web.OK(d)
}

// deadLetterDigest is what became of messages that died in one virtual host, and what is kept of them.
type deadLetterDigest struct {
	VHost     string                         `json:"vhost"`
	Dead      int64                          `json:"dead"`      // in queues
	Lost      int64                          `json:"lost"`      // kept among the lost letters
	Discarded int64                          `json:"discarded"` // of Lost
	Held      int64                          `json:"held"`      // by their queues, until targets take them
	Died      api.Object[api.Object[uint64]] `json:"died"`      // by reason, then by what came of it
}

func (s *Server) getDeadLetterDigest(r *web.Request) (web.Answer, error) {
	all := api.List[deadLetterDigest]{}
	for _, h := range r.VisibleVHosts() {
		if r.IsDown(h.Name) {
			continue
		}
		t := s.reader.Sum(r.Context(), h)
		all = append(all, deadLetterDigest{
			VHost: h.Name, Dead: int64(t.DeadLetters), Held: int64(t.Held.Sum()), Died: fatesOf(&t),
			Lost: int64(t.Lost.Messages), Discarded: int64(t.Lost.ByCause[fact.Discarded]),
		})
	}
	return web.OK(all)
}

// fatesOf counts deaths by reason, in the words of metrics, and by what came of them.
func fatesOf(h *stats.Totals) api.Object[api.Object[uint64]] {
	all, counted := api.Object[api.Object[uint64]]{}, h.Stats.Sum()
	for _, d := range stats.Deaths {
		of := api.Object[uint64]{}
		for f := range vhost.Fates {
			for _, reason := range d.Reasons {
				if n := h.Traffic.Fates[reason][f]; n > 0 {
					of[f.String()] += n
				}
			}
		}
		if n := d.Count(&counted); d.Reasons == nil && n > 0 {
			of[vhost.FateRouted.String()] = n
		}
		all[d.Word] = of
	}
	return all
}

func getAlarmDigest(r *web.Request) (web.Answer, error) {
	return web.OK(api.List[api.Alarm](raised(r.Engine.Alarms(), r.Node)))
}

// getJobDigest lists the jobs of the virtual hosts that the caller may enter.
func (s *Server) getJobDigest(r *web.Request) (web.Answer, error) {
	all := api.Object[any]{}
	for _, h := range r.VisibleVHosts() {
		if r.IsDown(h.Name) {
			continue
		}
		r.SetPathValue("vhost", h.Name)
		a, err := s.deadletter.Redrives(r)
		if err != nil {
			continue // it may not be entered
		}
		text, err := web.Render(r, a)
		if err != nil {
			return web.Answer{}, err
		}
		all[h.Name] = rawJSON(text)
	}
	return web.OK(all)
}

// rawJSON is JSON already.
type rawJSON []byte

func (j rawJSON) MarshalJSON() ([]byte, error) { return j, nil }
