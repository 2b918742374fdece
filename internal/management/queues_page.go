package management

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

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
				all := figuresOf(q.Stats)
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

// pageOfQueues answers with a page of the queues of some virtual hosts.
func (r *request) pageOfQueues(hosts []*access.VHost, p *paging) (answer, error) {
	by, reverse := r.URL.Query().Get("sort"), r.flag("sort_reverse")
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *access.VHost) bool { return r.down(h.Name) })
	first, last := p.span()
	var found []place
	var total, filtered int
	var err error
	if by == "" || by == "name" && len(hosts) == 1 {
		found, total, filtered, err = r.placesByName(hosts, p, by != "" && reverse)
	} else {
		o := order{most: last, reverse: reverse}
		if total, filtered, err = r.placesBy(hosts, p.name, by, &o); err == nil {
			o.cut()
			found = o.best[min(first, len(o.best)):]
		}
	}
	if err != nil {
		return answer{}, err
	}
	if p.name != nil {
		if err := p.name.late(total); err != nil {
			return answer{}, err
		}
	}
	if err := p.check(filtered); err != nil {
		return answer{}, err
	}
	rows, err := r.rowsAt(found)
	if err != nil {
		return answer{}, err
	}
	return pageAnswer(r, p, total, filtered, r.renderQueues(rows))
}

// sortedQueues answers with all queues of some virtual hosts in the order of a column. Only their names are
// held.
func (r *request) sortedQueues(hosts []*access.VHost) (answer, error) {
	if err := r.gather(); err != nil {
		return answer{}, err
	}
	count := 0
	for _, h := range hosts {
		roll, err := r.server.roll(r.Context(), h)
		if r.down(h.Name) {
			continue
		}
		if err != nil {
			return answer{}, err
		}
		count += len(roll.queues)
	}
	if err := r.takeLarge(itemsBytes[place](2 * count)); err != nil { // a slice that grows has two lengths for a while
		return answer{}, err
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *access.VHost) bool { return r.down(h.Name) })
	o := order{most: math.MaxInt / 2, reverse: r.flag("sort_reverse")}
	if _, _, err := r.placesBy(hosts, nil, r.URL.Query().Get("sort"), &o); err != nil {
		return answer{}, err
	}
	slices.SortFunc(o.best, o.compare)
	ordered := make([]named, len(o.best))
	for i := range o.best {
		ordered[i] = named{o.best[i].host, o.best[i].name}
	}
	o.best = nil
	r.account.giveBack(itemsBytes[named](count))
	r.ready()
	return r.streamed(func(row func(any) error) error {
		portion := make([]place, 0, listPortion)
		for some := range slices.Chunk(ordered, listPortion) {
			portion = portion[:0]
			for _, q := range some {
				portion = append(portion, place{host: q.host, name: q.name})
			}
			rows, err := r.rowsAt(portion)
			if err == nil {
				err = r.streamRows(rows, row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// named is a queue of a virtual host.
type named struct {
	host *access.VHost
	name string
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

// placesBy adds the queues whose names match to an order by a column, and counts all of them and those that
// match.
func (r *request) placesBy(hosts []*access.VHost, name *namePattern, by string, o *order) (total, filtered int, err error) {
	column, known := queueColumns[by]
	if !known {
		return r.placesByJSON(hosts, name, strings.Split(by, "."), o)
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookPatience)
	defer cancel()
	for _, h := range hosts {
		wanted, err := r.namesWanted(h, name)
		if err != nil {
			return 0, 0, err
		}
		var rates map[vhost.QueueID]float64
		if column.rates != nil {
			rates = r.server.sampler.rates(h, column.rates...)
		}
		_, err = eachQueue(ctx, r.server.engine, h.Name, func(q *vhost.QueueSample) {
			total++
			if !wanted(q.Name) {
				return
			}
			filtered++
			at := place{host: h, name: q.Name}
			switch {
			case column.number != nil:
				at.rank.number = column.number(q)
			case column.text != nil:
				if at.rank.text = column.text(h, q); at.rank.text != "" {
					at.rank.class = column.class
				}
			default:
				at.rank.number = rates[q.ID]
			}
			o.add(at)
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return total, filtered, nil
}

// placesByJSON is placesBy for a column of which no more is known than what a list shows: the JSON of each
// queue is made, and forgotten.
func (r *request) placesByJSON(hosts []*access.VHost, name *namePattern, path []string, o *order) (total, filtered int, err error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	for _, h := range hosts {
		wanted, err := r.namesWanted(h, name)
		if err != nil {
			return 0, 0, err
		}
		err = r.eachRows(h, viewsMax, func(rows []queueRow) error {
			total += len(rows)
			return r.streamRows(slices.DeleteFunc(rows, func(q queueRow) bool { return !wanted(q.view.Name) }), func(q any) error {
				text.Reset()
				if err := e.Encode(q); err != nil {
					return err
				}
				filtered++
				o.add(place{host: h, name: q.(*api.Queue).Name, rank: rankOf(fieldOf(text.Bytes(), path))})
				return nil
			})
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return total, filtered, nil
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
