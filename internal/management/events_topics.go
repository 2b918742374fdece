package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
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

func getQueueDigest(r *request) (answer, error) {
	var d queueDigest
	for _, h := range r.visible() {
		if r.down(h.Name) {
			continue
		}
		t := r.server.sum(r.Context(), h)
		all := t.stats.sum()
		d.Queues, d.Consumers = d.Queues+t.queues, d.Consumers+t.consumers
		d.Ready, d.Unacked, d.Aside = d.Ready+t.ready, d.Unacked+t.unacked, d.Aside+t.waiting+t.held.sum()
		d.Moved += int64(all.Published + all.Delivered + all.Got + all.Acked)
	}
	return ok(d)
}

// letterDigest is what became of messages that died in one virtual host, and what is kept of them.
type letterDigest struct {
	VHost string                         `json:"vhost"`
	Lost  int64                          `json:"lost"` // kept among the lost letters
	Held  int64                          `json:"held"` // by their queues, until targets take them
	Died  api.Object[api.Object[uint64]] `json:"died"` // by reason, then by what came of it
}

func getLetterDigest(r *request) (answer, error) {
	all := api.List[letterDigest]{}
	for _, h := range r.visible() {
		if r.down(h.Name) {
			continue
		}
		t := r.server.sum(r.Context(), h)
		all = append(all, letterDigest{VHost: h.Name, Lost: int64(t.shelf.Messages), Held: int64(t.held.sum()), Died: fatesOf(&t.traffic)})
	}
	return ok(all)
}

// fatesOf counts deaths by reason, in the words of metrics, and by what came of them.
func fatesOf(t *vhost.Traffic) api.Object[api.Object[uint64]] {
	all := api.Object[api.Object[uint64]]{}
	for _, d := range deaths {
		of := api.Object[uint64]{}
		for f := range vhost.Fates {
			for _, reason := range d.reasons {
				if n := t.Fates[reason][f]; n > 0 {
					of[f.String()] += n
				}
			}
		}
		all[d.word] = of
	}
	return all
}

func getAlarmDigest(r *request) (answer, error) {
	return ok(api.List[api.Alarm](raised(r.server.engine.Alarms(), r.server.options.Node)))
}

// getJobDigest lists the jobs of the virtual hosts that the caller may enter, if the API has jobs.
func getJobDigest(r *request) (answer, error) {
	all := api.Object[any]{}
	for _, h := range r.visible() {
		found := r.server.tree.find([]string{"x", "redrives", h.Name}, nil)
		if found == nil {
			break
		}
		to, there := found.node.methods[http.MethodGet]
		if !there || r.down(h.Name) {
			continue
		}
		r.names = found.names
		a, err := to.serve(r)
		if err != nil {
			continue // it may not be entered
		}
		text, err := render(r, a)
		if err != nil {
			return answer{}, err
		}
		all[h.Name] = rawJSON(text)
	}
	return ok(all)
}

// rawJSON is JSON already.
type rawJSON []byte

func (j rawJSON) MarshalJSON() ([]byte, error) { return j, nil }

// consoleStreams shows how many consoles listen. Source: ours.
func (s *scrape) consoleStreams() {
	one(s.exposition, "bartleby_ui_sse_clients", gauge, "Open event streams", s.server.streams.count())
}
