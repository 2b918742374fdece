package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// A page of queues is found without reading all queues whole: by the roll of names where names are the order, else by
// what a column sorts by, of which samples are enough. Only the queues on the page are shown.

// A queueColumn is what a column of the list of queues sorts by: one of the three.
type queueColumn struct {
	number func(q *vhost.QueueSample) float64
	text   func(h *accounts.VHost, q *vhost.QueueSample) string
	class  int   // of text, as rankOf has it
	rates  []int // figures that change, all of them together
}

// queueColumns are the columns that pages of queues are sorted by without making the JSON of all queues first.
var queueColumns = makeQueueColumns()

// SortColumns are the fields by which lists of queues are sorted without making them whole.
func SortColumns() []string { return slices.Sorted(maps.Keys(queueColumns)) }

func makeQueueColumns() map[string]queueColumn {
	columns := map[string]queueColumn{}
	numbers := func(name string, of func(q *vhost.QueueSample) float64) { columns[name] = queueColumn{number: of} }
	numbers("consumers", func(q *vhost.QueueSample) float64 { return float64(q.Consumers) })
	numbers("consumer_utilisation", stats.Capacity)
	numbers("consumer_capacity", stats.Capacity)
	numbers("messages", func(q *vhost.QueueSample) float64 { return float64(stats.Depth(q)) })
	numbers("messages_ready", func(q *vhost.QueueSample) float64 { return float64(q.Ready) })
	numbers("messages_unacknowledged", func(q *vhost.QueueSample) float64 { return float64(q.Unacked) })
	numbers("messages_delayed", func(q *vhost.QueueSample) float64 { return float64(q.Waiting) })
	numbers("messages_dlx", func(q *vhost.QueueSample) float64 { return float64(q.Held) })
	numbers("message_bytes", func(q *vhost.QueueSample) float64 { return float64(stats.DepthBytes(q)) })
	numbers("message_bytes_ready", func(q *vhost.QueueSample) float64 { return float64(q.ReadyBytes) })
	numbers("message_bytes_unacknowledged", func(q *vhost.QueueSample) float64 { return float64(q.UnackedBytes) })
	numbers("message_bytes_dlx", func(q *vhost.QueueSample) float64 { return float64(q.HeldBytes) })
	columns["messages_details.rate"] = queueColumn{rates: []int{stats.AtReady, stats.AtUnacked, stats.AtAside}}
	columns["messages_ready_details.rate"] = queueColumn{rates: []int{stats.AtReady}}
	columns["messages_unacknowledged_details.rate"] = queueColumn{rates: []int{stats.AtUnacked}}
	for name, figures := range map[string][]int{
		"publish": {stats.AtPublished}, "deliver": {stats.AtDelivered}, "deliver_no_ack": {stats.AtDeliveredNoAck}, "get": {stats.AtGot},
		"get_no_ack": {stats.AtGotNoAck}, "get_empty": {stats.AtGotNone}, "redeliver": {stats.AtRedelivered}, "ack": {stats.AtAcked},
		"deliver_get": {stats.AtDelivered, stats.AtDeliveredNoAck, stats.AtGot, stats.AtGotNoAck},
	} {
		columns["message_stats."+name+"_details.rate"] = queueColumn{rates: figures}
		numbers("message_stats."+name, func(q *vhost.QueueSample) (sum float64) {
			if q.Counted {
				all := stats.FiguresOf(q.Stats)
				for _, f := range figures {
					sum += float64(all[f])
				}
			}
			return sum
		})
	}
	texts := func(name string, of func(h *accounts.VHost, q *vhost.QueueSample) string) {
		columns[name] = queueColumn{text: of, class: 2}
	}
	texts("name", func(_ *accounts.VHost, q *vhost.QueueSample) string { return q.Name })
	texts("vhost", func(h *accounts.VHost, _ *vhost.QueueSample) string { return h.Name })
	texts("type", func(_ *accounts.VHost, q *vhost.QueueSample) string { return q.Type })
	texts("policy", func(_ *accounts.VHost, q *vhost.QueueSample) string { return q.Policy })
	texts("operator_policy", func(_ *accounts.VHost, q *vhost.QueueSample) string { return q.OperatorPolicy })
	same := func(*accounts.VHost, *vhost.QueueSample) string { return "" }
	texts("node", same)
	texts("state", same)
	for name, of := range map[string]func(q *vhost.QueueSample) bool{
		"durable":     func(q *vhost.QueueSample) bool { return q.Durable },
		"auto_delete": func(q *vhost.QueueSample) bool { return q.AutoDelete },
		"exclusive":   func(q *vhost.QueueSample) bool { return q.Exclusive },
	} {
		numbers(name, func(q *vhost.QueueSample) float64 { return float64(stats.BoolInt(of(q))) })
	}
	return columns
}

// A position is a queue in an order of queues.
type position struct {
	host *accounts.VHost
	name string
	rank web.Rank
}

// An order keeps the first places of a list that is longer.
type order struct {
	most    int
	reverse bool
	best    []position
	full    bool // best[most-1] is the last that counts
}

// compare orders places as lists show them. Equal ones are by virtual host and name, whichever way the order goes.
func (o *order) compare(a, b position) int {
	c := a.rank.Compare(b.rank)
	if o.reverse {
		c = -c
	}
	if c == 0 {
		c = byVHostAndName(a.host.Name, a.name, b.host.Name, b.name)
	}
	return c
}

func (o *order) add(p position) {
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
func (s *API) pageOfQueues(r *web.Request, hosts []*accounts.VHost, p *web.Paging) (web.Answer, error) {
	by, reverse := r.URL.Query().Get("sort"), r.Flag("sort_reverse")
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *accounts.VHost) bool { return r.IsDown(h.Name) })
	first, last := p.Span()
	var found []position
	var total, filtered int
	var err error
	if by == "" || by == "name" && len(hosts) == 1 {
		found, total, filtered, err = s.positionsByName(r, hosts, p, by != "" && reverse)
	} else {
		o := order{most: last, reverse: reverse}
		if total, filtered, err = s.positionsBy(r, hosts, p.Name, by, &o); err == nil {
			o.cut()
			found = o.best[min(first, len(o.best)):]
		}
	}
	if err != nil {
		return web.Answer{}, err
	}
	if p.Name != nil {
		if err := p.Name.Late(total); err != nil {
			return web.Answer{}, err
		}
	}
	if err := p.Check(filtered); err != nil {
		return web.Answer{}, err
	}
	rows, err := s.rowsAt(r, found)
	if err != nil {
		return web.Answer{}, err
	}
	return web.PageAnswer(r, p, total, filtered, s.renderQueues(r, rows))
}

// sortedQueues answers with all queues of some virtual hosts in the order of a column. Only their names are
// held.
func (s *API) sortedQueues(r *web.Request, hosts []*accounts.VHost) (web.Answer, error) {
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	count := 0
	for _, h := range hosts {
		roll, err := s.namesFor(r, h)
		if r.IsDown(h.Name) {
			continue
		}
		if err != nil {
			return web.Answer{}, err
		}
		count += len(roll.queues)
	}
	// a slice that grows has two lengths for a while
	if err := r.TakeLarge(web.ItemsBytes[position](2 * count)); err != nil {
		return web.Answer{}, err
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *accounts.VHost) bool { return r.IsDown(h.Name) })
	o := order{most: math.MaxInt / 2, reverse: r.Flag("sort_reverse")}
	if _, _, err := s.positionsBy(r, hosts, nil, r.URL.Query().Get("sort"), &o); err != nil {
		return web.Answer{}, err
	}
	slices.SortFunc(o.best, o.compare)
	ordered := make([]named, len(o.best))
	for i := range o.best {
		ordered[i] = named{o.best[i].host, o.best[i].name}
	}
	o.best = nil
	r.Account.GiveBack(web.ItemsBytes[named](count))
	r.Ready()
	return r.Streamed(func(row func(any) error) error {
		portion := make([]position, 0, ListPortion)
		for some := range slices.Chunk(ordered, ListPortion) {
			portion = portion[:0]
			for _, q := range some {
				portion = append(portion, position{host: q.host, name: q.name})
			}
			rows, err := s.rowsAt(r, portion)
			if err == nil {
				err = s.streamRows(r, rows, row)
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
	host *accounts.VHost
	name string
}

// positionsByName finds a page in the order of names, host by host.
func (s *API) positionsByName(r *web.Request, hosts []*accounts.VHost, p *web.Paging, reverse bool) (found []position,
	total, filtered int, err error) {
	first, last := p.Span()
	for _, h := range hosts {
		roll, err := s.namesFor(r, h)
		if err != nil {
			return nil, 0, 0, err
		}
		n := len(roll.queues)
		at := func(i int) *nameEntry {
			if reverse {
				i = n - 1 - i
			}
			return &roll.queues[i]
		}
		if p.Name == nil {
			for i := max(first-total, 0); i < min(last-total, n); i++ {
				found = append(found, position{host: h, name: at(i).name})
			}
			total += n
			continue
		}
		for i := range n {
			if name := at(i).name; p.Name.Match(name) {
				if filtered++; filtered > first && filtered <= last {
					found = append(found, position{host: h, name: name})
				}
			}
		}
		total += n
	}
	if p.Name == nil {
		filtered = total
	}
	return found, total, filtered, nil
}

// namesWanted tells which names of queues match. An expression is matched here, not while the virtual host stands
// still.
func (s *API) namesWanted(r *web.Request, h *accounts.VHost, p *web.NamePattern) (func(name string) bool, error) {
	switch {
	case p == nil:
		return func(string) bool { return true }, nil
	case p.Literal != "":
		return p.Match, nil
	}
	roll, err := s.namesFor(r, h)
	if err != nil {
		return nil, err
	}
	matches := map[string]bool{}
	for i := range roll.queues {
		if name := roll.queues[i].name; p.Match(name) {
			matches[name] = true
		}
	}
	return func(name string) bool { return matches[name] }, nil
}

// positionsBy adds the queues whose names match to an order by a column, and counts all of them and those that
// match.
func (s *API) positionsBy(r *web.Request, hosts []*accounts.VHost, name *web.NamePattern, by string, o *order) (total,
	filtered int, err error) {
	column, known := queueColumns[by]
	if !known {
		return s.positionsByJSON(r, hosts, name, strings.Split(by, "."), o)
	}
	ctx, cancel := context.WithTimeout(r.Context(), web.LookPatience)
	defer cancel()
	for _, h := range hosts {
		wanted, err := s.namesWanted(r, h, name)
		if err != nil {
			return 0, 0, err
		}
		var rates map[fact.QueueID]float64
		if column.rates != nil {
			rates = s.sampler.Rates(h, column.rates...)
		}
		err = r.Aside(func() error {
			_, err := stats.EachQueue(ctx, r.Engine, h.Name, func(q *vhost.QueueSample) {
				total++
				if !wanted(q.Name) {
					return
				}
				filtered++
				at := position{host: h, name: q.Name}
				switch {
				case column.number != nil:
					at.rank.Number = column.number(q)
				case column.text != nil:
					if at.rank.Text = column.text(h, q); at.rank.Text != "" {
						at.rank.Class = column.class
					}
				default:
					at.rank.Number = rates[q.ID]
				}
				o.add(at)
			})
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return total, filtered, nil
}

// positionsByJSON is placesBy for a column of which no more is known than what a list shows: the JSON of each
// queue is made, and forgotten.
func (s *API) positionsByJSON(r *web.Request, hosts []*accounts.VHost, name *web.NamePattern, path []string,
	o *order) (total, filtered int, err error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	for _, h := range hosts {
		wanted, err := s.namesWanted(r, h, name)
		if err != nil {
			return 0, 0, err
		}
		err = s.EachRows(r, h, stats.ViewsMax, func(rows []QueueRow) error {
			total += len(rows)
			return s.streamRows(r, slices.DeleteFunc(rows, func(q QueueRow) bool { return !wanted(q.View.Name) }), func(q any) error {
				text.Reset()
				if err := e.Encode(q); err != nil {
					return err
				}
				filtered++
				o.add(position{host: h, name: q.(*api.Queue).Name, rank: web.RankOf(web.FieldOf(text.Bytes(), path))})
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
func (s *API) rowsAt(r *web.Request, found []position) ([]QueueRow, error) {
	w, err := stats.SpansOf(r)
	if err != nil {
		return nil, err
	}
	rows := make([]QueueRow, len(found))
	hosts := map[*accounts.VHost][]int{} // where their queues are among the places
	for i := range found {
		hosts[found[i].host] = append(hosts[found[i].host], i)
	}
	for h, at := range hosts {
		for portion := range slices.Chunk(at, stats.ViewsMax) {
			views := make([]vhost.QueueView, 0, len(portion))
			var there []int
			err := r.Look(h.Name, func(v vhost.Reader) {
				for _, i := range portion {
					if q, ok := v.Queue(found[i].name); ok {
						views, there = append(views, q), append(there, i)
					}
				}
			})
			if err != nil {
				return nil, err
			}
			for k, t := range s.sampler.Trends(h, views, w) {
				rows[there[k]] = QueueRow{h, &views[k], t}
			}
		}
	}
	return slices.DeleteFunc(rows, func(q QueueRow) bool { return q.View == nil }), nil
}

// renderQueues renders rows.
func (s *API) renderQueues(r *web.Request, rows []QueueRow) *web.Rendering[QueueRow, api.Queue] {
	var one api.Queue
	return &web.Rendering[QueueRow, api.Queue]{Items: rows, Request: r, Show: func(q *QueueRow) *api.Queue {
		one = s.showQueue(q.vhost, q.View, &q.trend)
		return &one
	}}
}
