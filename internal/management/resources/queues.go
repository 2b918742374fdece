package resources

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/message"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

func (s *API) queueEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET users/{user}/queues", Tag: authz.Administrator, Serve: s.getUserQueues, Scope: web.AllNodes,
			Summary: "The exclusive queues of a user's connections", Out: api.List[api.Queue]{},
		},
		{
			Pattern: "GET queues", Tag: authz.Management, Serve: s.getQueues, Scope: web.AllNodes,
			Summary: "The queues", Out: api.List[api.Queue]{},
		},
		{
			Pattern: "GET queues/detailed", Tag: authz.Management, Serve: s.getQueues, Scope: web.AllNodes,
			Summary: "Queues with all details", Out: api.List[api.Queue]{},
		},
		{
			Pattern: "GET queues/{vhost}", Tag: authz.Management, Serve: s.getQueues, Scope: web.Leader,
			Summary: "The queues of a virtual host", Out: api.List[api.Queue]{},
		},
		{
			Pattern: "GET queues/{vhost}/{queue}", Tag: authz.Management, Serve: s.getQueue, Scope: web.Leader,
			Summary: "A queue, with its consumers", Out: api.Queue{},
		},
		{
			Pattern: "PUT queues/{vhost}/{queue}", Tag: authz.Management, Serve: putQueue, Scope: web.Leader,
			Summary: "Declares a queue", In: api.PutQueue{},
		},
		{
			Pattern: "DELETE queues/{vhost}/{queue}", Tag: authz.Management, Serve: deleteQueue, Scope: web.Leader,
			Summary: "Deletes a queue; if-empty=true and if-unused=true are conditions",
		},
		{
			Pattern: "DELETE queues/{vhost}/{queue}/contents", Tag: authz.Management, Serve: purgeQueue, Scope: web.Leader,
			Summary: "Deletes the ready messages of a queue",
		},
		{
			Pattern: "POST queues/{vhost}/{queue}/actions", Tag: authz.Management, Serve: actOnQueue, Audit: web.Unaudited, Scope: web.Leader,
			Summary: "Not supported: there are no actions", In: anAction{},
		},
	}
}

func (s *API) showQueue(h *accounts.VHost, q *vhost.QueueView, t *stats.Trend) api.Queue {
	counted := stats.FiguresOf(&q.Stats)
	shown := api.Queue{
		Name: q.Name, VHost: h.Name, Type: q.Type, Durable: q.Durable, AutoDelete: q.AutoDelete, Exclusive: q.Exclusive,
		Arguments: api.Arguments(q.Arguments), Node: s.Node, State: "running",
		Totals: stats.ShowTotals(q.Ready, q.Unacked, q.Waiting+q.Held, t), MessageStats: stats.ShowMessageStats(&counted, t),
		Consumers: q.Consumers, ActiveConsumers: q.Consumers,
		SingleActiveConsumerTag: message.OrNil(q.SingleActiveTag), Policy: message.OrNil(q.Policy), OperatorPolicy: message.OrNil(q.OperatorPolicy),
		EffectivePolicyDefinition: api.Arguments(q.EffectivePolicy), IgnoredPolicyKeys: q.IgnoredKeys,
		MessageBytes:      q.ReadyBytes + q.UnackedBytes + q.WaitingBytes + q.HeldBytes,
		MessageBytesReady: q.ReadyBytes, MessageBytesUnacknowledged: q.UnackedBytes,
		DeliveryLimit: api.DeliveryLimit(q.Settings.DeliveryLimit), MessagesDelayed: int64(q.Waiting),
		MessagesDLX: int64(q.Held), MessageBytesDLX: q.HeldBytes,
	}
	shown.DelayedRetry = showRetry(&q.Settings)
	if t.Since > 0 {
		since := time.UnixMilli(t.Since).UTC().Format(idleTime)
		shown.IdleSince = &since
	}
	if q.SingleActiveTag != "" {
		shown.ActiveConsumers = 1
	}
	if q.Consumers > 0 && q.Ready == 0 {
		shown.ConsumerUtilisation, shown.ConsumerCapacity = 1, 1
	}
	if q.Owner != "" {
		host, port := peerNamed(q.Owner)
		shown.Owner = &api.QueueOwner{Name: q.Owner, PeerHost: host, PeerPort: port}
	}
	if q.Type == "quorum" {
		shown.Leader, shown.Members, shown.Online = s.Node, api.List[string]{s.Node}, api.List[string]{s.Node}
	}
	return shown
}

// idleTime is the form of idle_since. Source: RabbitMQ management API, idle_since.
const idleTime = "2006-01-02T15:04:05.000-07:00"

// showRetry says how a queue spaces its retries, "" if it does not. Source: RabbitMQ 4.3 quorum-queues, delayed_retry;
// what is behind max is ours.
func showRetry(s *vhost.Settings) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case s.RetryType == vhost.RetryDisabled:
		return ""
	case len(s.RetrySteps) > 0:
		var steps strings.Builder
		for _, ms := range s.RetrySteps {
			fmt.Fprintf(&steps, " %dms", ms)
		}
		add("steps:%s", steps.String())
	case s.RetryMin <= 0:
		return ""
	default:
		add("min: %dms", s.RetryMin)
		if s.RetryBackoff == vhost.Linear || s.RetryBackoff == vhost.Exponential && s.RetryMax > 0 {
			add("max: %dms", max(s.RetryMin, s.RetryMax))
		}
		if s.RetryBackoff != vhost.Linear {
			add("backoff: %s", s.RetryBackoff)
		}
	}
	if s.RetryJitter > 0 {
		add("jitter: %d%%", s.RetryJitter)
	}
	if s.RetryAttempts > 0 {
		add("attempts: %d", s.RetryAttempts)
	}
	return fmt.Sprintf("%s (%s)", s.RetryType, strings.Join(parts, ", "))
}

// peerNamed reads the peer's address from the name of a connection: "peer:port -> host:port".
func peerNamed(connection string) (host string, port int) {
	peer, _, _ := strings.Cut(connection, " -> ")
	host, service, err := net.SplitHostPort(peer)
	if err != nil {
		return peer, 0
	}
	port, err = strconv.Atoi(service)
	if err != nil {
		return peer, 0
	}
	return host, port
}

// A QueueRow is a queue of a list before it is shown.
type QueueRow struct {
	vhost *accounts.VHost
	View  *vhost.QueueView
	trend stats.Trend
}

// EachRows reads the queues of a virtual host by name, in portions: publishers get their turn in between. One that is
// down has none to show.
func (s *API) EachRows(r *web.Request, h *accounts.VHost, n int, visit func(rows []QueueRow) error) error {
	found := make([]position, 0, n)
	return s.eachName(r, h, n, func(names []string) error {
		found = found[:0]
		for _, name := range names {
			found = append(found, position{host: h, name: name})
		}
		rows, err := s.rowsAt(r, found)
		if err != nil {
			return err
		}
		return visit(rows)
	})
}

func (s *API) getQueues(r *web.Request) (web.Answer, error) {
	shown, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	p, err := web.ReadPaging(r.URL.Query())
	if err != nil {
		return web.Answer{}, err
	}
	showQueueDefinition(r)
	switch by := r.URL.Query().Get("sort"); {
	case p != nil:
		return s.pageOfQueues(r, shown, p)
	case by != "":
		return s.sortedQueues(r, shown)
	}
	return r.Streamed(func(row func(any) error) error {
		for _, h := range shown {
			err := s.EachRows(r, h, ListPortion, func(rows []QueueRow) error { return s.streamRows(r, rows, row) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// streamRows passes queues on as they are shown.
func (s *API) streamRows(r *web.Request, rows []QueueRow, row func(any) error) error {
	var shown api.Queue
	for i := range rows {
		if err := r.Work(); err != nil {
			return err
		}
		shown = s.showQueue(rows[i].vhost, rows[i].View, &rows[i].trend)
		if err := row(&shown); err != nil {
			return err
		}
	}
	return nil
}

// showQueueDefinition keeps statistics of queues out of what is shown, if they are not wanted.
func showQueueDefinition(r *web.Request) {
	r.ShowDefinition(queueDefinition, "messages,messages_ready,messages_unacknowledged")
}

// queueDefinition is what a list shows of a queue whose statistics are not wanted.
// Source: RabbitMQ management API, disable_stats.
const queueDefinition = "name,vhost,type,durable,auto_delete,exclusive,arguments,node,state,policy,operator_policy," +
	"effective_policy_definition,owner_pid_details"

// getQueue shows one queue with its consumers.
func (s *API) getQueue(r *web.Request) (web.Answer, error) {
	h, err := r.VHost(r.PathValue("vhost"))
	if err != nil {
		return web.Answer{}, err
	}
	w, err := stats.SpansOf(r)
	if err != nil {
		return web.Answer{}, err
	}
	var q vhost.QueueView
	var found bool
	var consumers []vhost.ConsumerView
	var incoming api.List[api.Inflow]
	var next, last *int64
	err = r.Look(h.Name, func(v vhost.Reader) {
		if q, found = v.Queue(r.PathValue("queue")); found && q.Consumers > 0 {
			consumers = v.Consumers()
		}
		incoming = stats.IncomingOf(v, h, r.PathValue("queue"))
		if from, to, ok := v.Delays(r.PathValue("queue"), web.ScanMax); ok {
			next, last = (*int64)(&from), (*int64)(&to)
		}
	})
	if err != nil {
		return web.Answer{}, err
	}
	if !found {
		return web.Answer{}, web.ErrNotFound
	}
	t := s.sampler.TrendOf(h, q.ID, w)
	shown := s.showQueue(h, &q, &t)
	shown.Readings = s.sampler.Readings(w)
	shown.Incoming, shown.Deliveries = &incoming, &api.List[api.Object[string]]{}
	shown.ConsumerDetails = &api.List[api.Consumer]{}
	shown.NextDelayedAt, shown.LastDelayedAt = next, last
	at := s.roster(r)
	for i := range consumers {
		if consumers[i].Queue == q.Name {
			*shown.ConsumerDetails = append(*shown.ConsumerDetails, showConsumer(r, h.Name, &consumers[i], at))
			if consumers[i].Exclusive {
				shown.ExclusiveConsumerTag = message.OrNil(consumers[i].Tag)
			}
		}
	}
	showQueueDefinition(r)
	return web.OK(shown)
}

func putQueue(r *web.Request) (web.Answer, error) {
	if err := r.Enter(r.PathValue("vhost")); err != nil {
		return web.Answer{}, err
	}
	var body api.PutQueue
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	return declareQueue(r, &body)
}

// declareQueue makes the queue that the path names, or finds it as it was declared.
func declareQueue(r *web.Request, body *api.PutQueue) (web.Answer, error) {
	name := r.PathValue("queue")
	if body.Node != "" && body.Node != r.Node {
		return web.Answer{}, web.BadRequest("Node %s could not be contacted", body.Node)
	}
	if err := message.CheckQueue(name, amqp.Table(body.Arguments)); err != nil {
		return web.Answer{}, err
	}
	existed, err := r.HasQueue()
	if err != nil {
		return web.Answer{}, err
	}
	_, err = r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
		Name: name, Durable: bool(body.Durable), AutoDelete: bool(body.AutoDelete), Arguments: amqp.Table(body.Arguments),
	}})
	if err != nil {
		return web.Answer{}, err
	}
	r.Unchanged = existed
	return web.PutAnswer(!existed)
}

func deleteQueue(r *web.Request) (web.Answer, error) {
	if err := r.NeedQueue(); err != nil {
		return web.Answer{}, err
	}
	_, err := r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{
		Name: r.PathValue("queue"), IfUnused: r.Flag("if-unused"), IfEmpty: r.Flag("if-empty"),
	}})
	if err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

func purgeQueue(r *web.Request) (web.Answer, error) {
	if err := r.NeedQueue(); err != nil {
		return web.Answer{}, err
	}
	_, err := r.Do(r.PathValue("vhost"), vhost.Command{Kind: vhost.PurgeQueue, Definition: &vhost.Definition{Name: r.PathValue("queue")}})
	if err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

// actOnQueue knows no action: the queues of this broker have no mirrors to act on.
func actOnQueue(r *web.Request) (web.Answer, error) {
	if err := r.NeedQueue(); err != nil {
		return web.Answer{}, err
	}
	var body struct {
		Action *string `json:"action"`
	}
	if err := r.Read(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("action", body.Action != nil)); err != nil {
		return web.Answer{}, err
	}
	return web.Answer{}, web.BadRequest("unknown action '%s'", *body.Action)
}

// byVHostAndName is the order of lists.
func byVHostAndName(aVHost, aName, bVHost, bName string) int {
	return cmp.Or(cmp.Compare(aVHost, bVHost), cmp.Compare(aName, bName))
}

// sortConnections orders connections as lists show them.
func sortConnections(all []stats.Connection) {
	slices.SortStableFunc(all, compareConnections)
}

func compareConnections(a, b stats.Connection) int {
	return byVHostAndName(a.VHost, a.Name, b.VHost, b.Name)
}

// anAction is a body that names an action.
type anAction = struct {
	Action string `json:"action"`
}

// getUserQueues lists the queues that belong to connections of a user: those that are exclusive.
func (s *API) getUserQueues(r *web.Request) (web.Answer, error) {
	if _, found := r.View.User(r.PathValue("user")); !found {
		return web.Answer{}, web.ErrNotFound
	}
	owners := map[string]bool{}
	for _, c := range s.clients.Connections() {
		owners[c.Name] = owners[c.Name] || c.User == r.PathValue("user")
	}
	if err := r.Gather(); err != nil {
		return web.Answer{}, err
	}
	var all []QueueRow
	for _, h := range r.View.VHosts() {
		err := s.EachRows(r, h, stats.ViewsMax, func(rows []QueueRow) error {
			for _, q := range rows {
				if owners[q.View.Owner] {
					all = append(all, q)
				}
			}
			return nil
		})
		if err != nil {
			return web.Answer{}, err
		}
	}
	showQueueDefinition(r)
	return web.ListShown(r, all, func(q *QueueRow) string { return q.View.Name }, s.renderQueues(r, nil).Show)
}
