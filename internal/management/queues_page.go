package management

import (
	"context"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// A page of queues is found without reading all queues whole: by the roll of names where names are the order, else by what a
// column sorts by, of which samples are enough. Only the queues on the page are shown.

// A queueColumn is what a column of the list of queues sorts by: one of the three.
type queueColumn struct {
	number func(q *vhost.QueueSample) float64
	text   func(h *access.VHost, q *vhost.QueueSample) string
	class  int   // of text, as rankOf has it
	rates  []int // figures that change, all of them together
}

// queueColumns are the columns that pages of queues are sorted by without making the JSON of all queues first.
var queueColumns = makeQueueColumns()

func makeQueueColumns() map[string]queueColumn {
	columns := map[string]queueColumn{}
	numbers := func(name string, of func(q *vhost.QueueSample) float64) { columns[name] = queueColumn{number: of} }
	numbers("consumers", func(q *vhost.QueueSample) float64 { return float64(q.Consumers) })
	numbers("consumer_utilisation", capacity)
	numbers("consumer_capacity", capacity)
	numbers("messages", func(q *vhost.QueueSample) float64 { return float64(all(q)) })
	numbers("messages_ready", func(q *vhost.QueueSample) float64 { return float64(q.Ready) })
	numbers("messages_unacknowledged", func(q *vhost.QueueSample) float64 { return float64(q.Unacked) })
	numbers("messages_delayed", func(q *vhost.QueueSample) float64 { return float64(q.Waiting) })
	numbers("messages_dlx", func(q *vhost.QueueSample) float64 { return float64(q.Held) })
	numbers("message_bytes", func(q *vhost.QueueSample) float64 { return float64(allBytes(q)) })
	numbers("message_bytes_ready", func(q *vhost.QueueSample) float64 { return float64(q.ReadyBytes) })
	numbers("message_bytes_unacknowledged", func(q *vhost.QueueSample) float64 { return float64(q.UnackedBytes) })
	numbers("message_bytes_dlx", func(q *vhost.QueueSample) float64 { return float64(q.HeldBytes) })
	columns["messages_details.rate"] = queueColumn{rates: []int{atReady, atUnacked, atAside}}
	columns["messages_ready_details.rate"] = queueColumn{rates: []int{atReady}}
	columns["messages_unacknowledged_details.rate"] = queueColumn{rates: []int{atUnacked}}
	for name, figures := range map[string][]int{
		"publish": {atPublished}, "deliver": {atDelivered}, "deliver_no_ack": {atDeliveredNoAck}, "get": {atGot},
		"get_no_ack": {atGotNoAck}, "get_empty": {atGotNone}, "redeliver": {atRedelivered}, "ack": {atAcked},
		"deliver_get": {atDelivered, atDeliveredNoAck, atGot, atGotNoAck},
	} {
		columns["message_stats."+name+"_details.rate"] = queueColumn{rates: figures}
		numbers("message_stats."+name, func(q *vhost.QueueSample) (sum float64) {
			if q.Counted {
				all := figuresOf(&q.Stats)
				for _, f := range figures {
					sum += float64(all[f])
				}
			}
			return sum
		})
	}
	texts := func(name string, of func(h *access.VHost, q *vhost.QueueSample) string) {
		columns[name] = queueColumn{text: of, class: 2}
	}
	texts("name", func(_ *access.VHost, q *vhost.QueueSample) string { return q.Name })
	texts("vhost", func(h *access.VHost, _ *vhost.QueueSample) string { return h.Name })
	texts("type", func(_ *access.VHost, q *vhost.QueueSample) string { return q.Type })
	texts("policy", func(_ *access.VHost, q *vhost.QueueSample) string { return q.Policy })
	texts("operator_policy", func(_ *access.VHost, q *vhost.QueueSample) string { return q.OperatorPolicy })
	same := func(*access.VHost, *vhost.QueueSample) string { return "" }
	texts("node", same)
	texts("state", same)
	for name, of := range map[string]func(q *vhost.QueueSample) bool{
		"durable":     func(q *vhost.QueueSample) bool { return q.Durable },
		"auto_delete": func(q *vhost.QueueSample) bool { return q.AutoDelete },
		"exclusive":   func(q *vhost.QueueSample) bool { return q.Exclusive },
	} {
		numbers(name, func(q *vhost.QueueSample) float64 { return float64(flag(of(q))) })
	}
	return columns
}

// A place is a queue in an order of queues.
type place struct {
	host *access.VHost
	name string
	rank rank
}

// An order keeps the first places of a list that is longer.
type order struct {
	most    int
	reverse bool
	best    []place
	full    bool // best[most-1] is the last that counts
}

// compare orders places as lists show them. Equal ones are by virtual host and name, whichever way the order goes.
func (o *order) compare(a, b place) int {
	c := a.rank.compare(b.rank)
	if o.reverse {
		c = -c
	}
	if c == 0 {
		c = byVHostAndName(a.host.Name, a.name, b.host.Name, b.name)
	}
	return c
}

func (o *order) add(p place) {
	if o.full && o.compare(p, o.best[o.most-1]) >= 0 {
		return
	}
	if o.best = append(o.best, p); len(o.best) == 2*o.most {
		o.cut()
	}
}

// cut leaves the first places, in order.
func (o *order) cut() {
	slices.SortFunc(o.best, o.compare)
	o.full = len(o.best) >= o.most
	o.best = o.best[:min(len(o.best), o.most)]
}

// pageOfQueues answers with a page of the queues of some virtual hosts. ok is false if the column that it is sorted by is known
// only when all queues are shown.
func (r *request) pageOfQueues(hosts []*access.VHost, p *paging) (a answer, ok bool, err error) {
	by, reverse := r.URL.Query().Get("sort"), r.flag("sort_reverse")
	column, known := queueColumns[by]
	if by != "" && !known {
		return answer{}, false, nil
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *access.VHost) bool { return r.down(h.Name) })
	var found []place
	total, filtered := 0, 0
	if by == "" || by == "name" && len(hosts) == 1 {
		found, total, filtered, err = r.placesByName(hosts, p, by != "" && reverse)
	} else {
		found, total, filtered, err = r.placesBy(hosts, p, column, reverse)
	}
	if err != nil {
		return answer{}, true, err
	}
	if p.name != nil {
		if err := p.name.late(total); err != nil {
			return answer{}, true, err
		}
	}
	if err := p.check(filtered); err != nil {
		return answer{}, true, err
	}
	rows, err := r.rowsAt(found)
	if err != nil {
		return answer{}, true, err
	}
	a, err = pageAnswer(r, p, total, filtered, r.renderQueues(rows))
	return a, true, err
}

// placesByName finds a page in the order of names, host by host.
func (r *request) placesByName(hosts []*access.VHost, p *paging, reverse bool) (found []place, total, filtered int, err error) {
	first, last := p.span()
	for _, h := range hosts {
		roll, err := r.server.roll(r.Context(), h)
		if err != nil {
			return nil, 0, 0, err
		}
		n := len(roll.queues)
		at := func(i int) *rollEntry {
			if reverse {
				i = n - 1 - i
			}
			return &roll.queues[i]
		}
		if p.name == nil {
			for i := max(first-total, 0); i < min(last-total, n); i++ {
				found = append(found, place{host: h, name: at(i).name})
			}
			total += n
			continue
		}
		for i := range n {
			if name := at(i).name; p.name.match(name) {
				if filtered++; filtered > first && filtered <= last {
					found = append(found, place{host: h, name: name})
				}
			}
		}
		total += n
	}
	if p.name == nil {
		filtered = total
	}
	return found, total, filtered, nil
}

// namesWanted tells which names of queues match. An expression is matched here, not while the virtual host stands still.
func (r *request) namesWanted(h *access.VHost, p *namePattern) (func(name string) bool, error) {
	switch {
	case p == nil:
		return func(string) bool { return true }, nil
	case p.literal != "":
		return p.match, nil
	}
	roll, err := r.server.roll(r.Context(), h)
	if err != nil {
		return nil, err
	}
	matches := map[string]bool{}
	for i := range roll.queues {
		if name := roll.queues[i].name; p.match(name) {
			matches[name] = true
		}
	}
	return func(name string) bool { return matches[name] }, nil
}

// placesBy finds a page in the order of a column.
func (r *request) placesBy(hosts []*access.VHost, p *paging, by queueColumn, reverse bool) (found []place, total, filtered int, err error) {
	first, last := p.span()
	o := order{most: last, reverse: reverse}
	ctx, cancel := context.WithTimeout(r.Context(), lookPatience)
	defer cancel()
	for _, h := range hosts {
		wanted, err := r.namesWanted(h, p.name)
		if err != nil {
			return nil, 0, 0, err
		}
		var rates map[vhost.QueueID]float64
		if by.rates != nil {
			rates = r.server.sampler.rates(h, by.rates...)
		}
		_, err = eachQueue(ctx, r.server.engine, h.Name, func(q *vhost.QueueSample) {
			total++
			if !wanted(q.Name) {
				return
			}
			filtered++
			at := place{host: h, name: q.Name}
			switch {
			case by.number != nil:
				at.rank.number = by.number(q)
			case by.text != nil:
				if at.rank.text = by.text(h, q); at.rank.text != "" {
					at.rank.class = by.class
				}
			default:
				at.rank.number = rates[q.ID]
			}
			o.add(at)
		})
		if err != nil {
			return nil, 0, 0, err
		}
	}
	o.cut()
	return o.best[min(first, len(o.best)):], total, filtered, nil
}

// rowsAt reads queues. Those that are gone meanwhile are left out.
func (r *request) rowsAt(found []place) ([]queueRow, error) {
	w, err := r.spans()
	if err != nil {
		return nil, err
	}
	rows := make([]queueRow, len(found))
	hosts := map[*access.VHost][]int{} // where their queues are among the places
	for i := range found {
		hosts[found[i].host] = append(hosts[found[i].host], i)
	}
	for h, at := range hosts {
		for portion := range slices.Chunk(at, viewsMax) {
			views := make([]vhost.QueueView, 0, len(portion))
			var there []int
			err := r.look(h.Name, func(v *vhost.VHost) {
				for _, i := range portion {
					if q, ok := v.Queue(found[i].name); ok {
						views, there = append(views, q), append(there, i)
					}
				}
			})
			if err != nil {
				return nil, err
			}
			for k, t := range r.server.sampler.trends(h, views, w) {
				rows[there[k]] = queueRow{h, &views[k], t}
			}
		}
	}
	return slices.DeleteFunc(rows, func(q queueRow) bool { return q.view == nil }), nil
}

// renderQueues renders rows.
func (r *request) renderQueues(rows []queueRow) *rendering[queueRow, api.Queue] {
	var one api.Queue
	return &rendering[queueRow, api.Queue]{items: rows, admit: r.takeAnswer, show: func(q *queueRow) *api.Queue {
		one = r.server.showQueue(q.vhost, q.view, &q.trend)
		return &one
	}}
}
