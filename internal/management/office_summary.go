package management

import (
	"context"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// getSummaries tells how it stands with dead letters in each virtual host.
func getSummaries(r *request) (answer, error) {
	of, err := deathRangeOf(r.URL.Query())
	if err != nil {
		return answer{}, err
	}
	var all []api.LettersSummary
	for _, h := range r.visible() {
		if r.down(h.Name) {
			continue
		}
		s, err := r.server.summary(r.Context(), h, of)
		if err != nil {
			return answer{}, err
		}
		all = append(all, s)
	}
	return list(r, all, func(s *api.LettersSummary) string { return s.VHost })
}

func getSummary(r *request) (answer, error) {
	h, of, err := r.deathsAsked()
	if err != nil {
		return answer{}, err
	}
	s, err := r.server.summary(r.Context(), h, of)
	if err != nil {
		return answer{}, err
	}
	return ok(s)
}

// summary reads a virtual host as metrics do.
func (s *Server) summary(ctx context.Context, h *access.VHost, of deathRange) (api.LettersSummary, error) {
	f := &hostFigures{name: h.Name, labels: labelled("vhost", h.Name), types: byType{}}
	if err := s.figures(ctx, h, f, detail{queues: true}, s.clocks()[h.Name]); err != nil {
		return api.LettersSummary{}, err
	}
	n := f.types.sum()
	sum := api.LettersSummary{
		VHost: h.Name, Died: api.Object[uint64]{}, Letters: n.Letters, Waiting: int64(f.letters.messages), Bytes: f.letters.bytes,
		Held: int64(f.total.Held), Lost: showShelf(h.Name, &f.shelf, f.books.Ended[vhost.GoneShelf]),
		Redriven: f.traffic.Redrives.Moved, CameBack: f.traffic.Redrives.CameBack, Refused: f.traffic.Redrives.Refused,
		Discarded: f.traffic.Redrives.Discarded, Jobs: f.jobs,
	}
	for _, d := range deaths {
		for _, strategy := range strategies {
			sum.Died[d.word] += died(&n, strategy, d.reasons)
		}
		for _, reason := range d.reasons {
			sum.NoDLX += f.traffic.Fates[reason][vhost.FateNoDLX]
		}
	}
	sum.Recent = s.recentDeaths(h, of, figuresOfAll(&n, &f.traffic), f.rows)
	sum.OldestSec = secondsIf(f.letters.oldest)
	for i := range f.rows {
		if q := &f.rows[i]; q.target {
			sum.Queues = append(sum.Queues, api.LetterQueue{
				Name: q.Name, Messages: int64(all(&q.QueueSample)), Bytes: int64(allBytes(&q.QueueSample)), Consumers: q.Consumers,
				Arrivals: q.Stats.Letters, OldestSec: secondsIf(q.oldest),
			})
		}
	}
	return sum, nil
}

func secondsIf(age float64) *float64 {
	if age < 0 {
		return nil
	}
	return &age
}

func showShelf(name string, s *vhost.Shelf, evicted uint64) api.Shelf {
	shown := api.Shelf{VHost: name, Messages: s.Messages, Bytes: s.Bytes, ByCause: api.Object[uint64]{}, Evicted: evicted}
	for _, c := range vhost.LossCauses() {
		if n := s.ByCause[c]; n > 0 {
			shown.ByCause[c.String()] = n
		}
	}
	return shown
}
