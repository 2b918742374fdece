package management

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/access"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// text is a string for JSON that is null where there is none.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (s *Server) showQueue(h *access.VHost, q *vhost.QueueView, t *trend) api.Queue {
	counted := figuresOf(&q.Stats)
	shown := api.Queue{
		Name: q.Name, VHost: h.Name, Type: q.Type, Durable: q.Durable, AutoDelete: q.AutoDelete, Exclusive: q.Exclusive,
		Arguments: api.Arguments(q.Arguments), Node: s.options.Node, State: "running",
		Totals: totals(q.Ready, q.Unacked, q.Waiting+q.Held, t), MessageStats: messageStats(&counted, t),
		Consumers: q.Consumers, ActiveConsumers: q.Consumers,
		SingleActiveConsumerTag: text(q.SingleActiveTag), Policy: text(q.Policy), OperatorPolicy: text(q.OperatorPolicy),
		EffectivePolicyDefinition: api.Arguments(q.EffectivePolicy), IgnoredPolicyKeys: q.IgnoredKeys,
		MessageBytes:      q.ReadyBytes + q.UnackedBytes + q.WaitingBytes + q.HeldBytes,
		MessageBytesReady: q.ReadyBytes, MessageBytesUnacknowledged: q.UnackedBytes,
		DeliveryLimit: api.DeliveryLimit(q.Settings.DeliveryLimit), MessagesDelayed: int64(q.Waiting),
		MessagesDLX: int64(q.Held), MessageBytesDLX: q.HeldBytes,
	}
	shown.DelayedRetry = showRetry(&q.Settings)
	if t.since > 0 {
		since := time.UnixMilli(t.since).UTC().Format(idleTime)
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
		shown.Leader, shown.Members, shown.Online = s.options.Node, api.List[string]{s.options.Node}, api.List[string]{s.options.Node}
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

// A queueRow is a queue of a list before it is shown.
type queueRow struct {
	vhost *access.VHost
	view  *vhost.QueueView
	trend trend
}

// eachRows reads the queues of a virtual host by name, in portions: publishers get their turn in between. One that is down has none
// to show.
func (r *request) eachRows(h *access.VHost, n int, visit func(rows []queueRow) error) error {
	found := make([]place, 0, n)
	return r.eachName(h, n, func(names []string) error {
		found = found[:0]
		for _, name := range names {
			found = append(found, place{host: h, name: name})
		}
		rows, err := r.rowsAt(found)
		if err != nil {
			return err
		}
		return visit(rows)
	})
}

func getQueues(r *request) (answer, error) {
	shown, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	p, err := pageOf(r.URL.Query())
	if err != nil {
		return answer{}, err
	}
	r.showQueueDefinition()
	switch by := r.URL.Query().Get("sort"); {
	case p != nil:
		return r.pageOfQueues(shown, p)
	case by != "":
		return r.sortedQueues(shown)
	}
	return r.streamed(func(row func(any) error) error {
		for _, h := range shown {
			err := r.eachRows(h, listPortion, func(rows []queueRow) error { return r.streamRows(rows, row) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// streamRows passes queues on as they are shown.
func (r *request) streamRows(rows []queueRow, row func(any) error) error {
	var shown api.Queue
	for i := range rows {
		shown = r.server.showQueue(rows[i].vhost, rows[i].view, &rows[i].trend)
		if err := row(&shown); err != nil {
			return err
		}
	}
	return nil
}

// showQueueDefinition keeps statistics of queues out of what is shown, if they are not wanted.
func (r *request) showQueueDefinition() {
	r.showDefinition(queueDefinition, "messages,messages_ready,messages_unacknowledged")
}

// queueDefinition is what a list shows of a queue whose statistics are not wanted.
// Source: RabbitMQ management API, disable_stats.
const queueDefinition = "name,vhost,type,durable,auto_delete,exclusive,arguments,node,state,policy,operator_policy," +
	"effective_policy_definition,owner_pid_details"

// getQueue shows one queue with its consumers.
func getQueue(r *request) (answer, error) {
	h, err := r.vhost(r.names[0])
	if err != nil {
		return answer{}, err
	}
	w, err := r.spans()
	if err != nil {
		return answer{}, err
	}
	var q vhost.QueueView
	var found bool
	var consumers []vhost.ConsumerView
	var incoming api.List[api.Inflow]
	var next, last *int64
	err = r.look(h.Name, func(v *vhost.VHost) {
		if q, found = v.Queue(r.names[1]); found && q.Consumers > 0 {
			consumers = v.Consumers()
		}
		incoming = incomingOf(v, h, r.names[1])
		if from, to, ok := v.Delays(r.names[1], scanMax); ok {
			next, last = (*int64)(&from), (*int64)(&to)
		}
	})
	if err != nil {
		return answer{}, err
	}
	if !found {
		return answer{}, errNotFound
	}
	t := r.server.sampler.trendOf(h, q.ID, w)
	shown := r.server.showQueue(h, &q, &t)
	shown.Incoming, shown.Deliveries = &incoming, &api.List[api.Object[string]]{}
	shown.ConsumerDetails = &api.List[api.Consumer]{}
	shown.NextDelayedAt, shown.LastDelayedAt = next, last
	at := r.roster()
	for i := range consumers {
		if consumers[i].Queue == q.Name {
			*shown.ConsumerDetails = append(*shown.ConsumerDetails, r.showConsumer(h.Name, &consumers[i], at))
			if consumers[i].Exclusive {
				shown.ExclusiveConsumerTag = text(consumers[i].Tag)
			}
		}
	}
	r.showQueueDefinition()
	return ok(shown)
}

// hasQueue reports whether the queue that the path names is there.
func (r *request) hasQueue() (found bool, err error) {
	err = r.look(r.names[0], func(v *vhost.VHost) { _, found = v.Topology().Queue(r.names[1]) })
	return found, err
}

// needQueue makes sure that the caller may enter the virtual host and that the queue is there.
func (r *request) needQueue() error {
	if err := r.enter(r.names[0]); err != nil {
		return err
	}
	found, err := r.hasQueue()
	if err == nil && !found {
		err = errNotFound
	}
	return err
}

func putQueue(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	var body api.PutQueue
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	return r.declareQueue(&body)
}

// declareQueue makes the queue that the path names, or finds it as it was declared.
func (r *request) declareQueue(body *api.PutQueue) (answer, error) {
	name := r.names[1]
	if body.Node != "" && body.Node != r.server.options.Node {
		return answer{}, badRequest("Node %s could not be contacted", body.Node)
	}
	if err := checkQueue(name, amqp.Table(body.Arguments)); err != nil {
		return answer{}, err
	}
	existed, err := r.hasQueue()
	if err != nil {
		return answer{}, err
	}
	_, err = r.do(r.names[0], vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
		Name: name, Durable: bool(body.Durable), AutoDelete: bool(body.AutoDelete), Arguments: amqp.Table(body.Arguments),
	}})
	if err != nil {
		return answer{}, err
	}
	return put(!existed)
}

func deleteQueue(r *request) (answer, error) {
	if err := r.needQueue(); err != nil {
		return answer{}, err
	}
	_, err := r.do(r.names[0], vhost.Command{Kind: vhost.DeleteQueue, Definition: &vhost.Definition{
		Name: r.names[1], IfUnused: r.flag("if-unused"), IfEmpty: r.flag("if-empty"),
	}})
	if err != nil {
		return answer{}, err
	}
	return nothing()
}

func purgeQueue(r *request) (answer, error) {
	if err := r.needQueue(); err != nil {
		return answer{}, err
	}
	_, err := r.do(r.names[0], vhost.Command{Kind: vhost.PurgeQueue, Definition: &vhost.Definition{Name: r.names[1]}})
	if err != nil {
		return answer{}, err
	}
	return nothing()
}

// actOnQueue knows no action: the queues of this broker have no mirrors to act on.
func actOnQueue(r *request) (answer, error) {
	if err := r.needQueue(); err != nil {
		return answer{}, err
	}
	var body struct {
		Action *string `json:"action"`
	}
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"action", body.Action != nil}); err != nil {
		return answer{}, err
	}
	return answer{}, badRequest("unknown action '%s'", *body.Action)
}

// byVHostAndName is the order of lists.
func byVHostAndName(aVHost, aName, bVHost, bName string) int {
	return cmp.Or(cmp.Compare(aVHost, bVHost), cmp.Compare(aName, bName))
}

// sortConnections orders connections as lists show them.
func sortConnections(all []Connection) {
	slices.SortStableFunc(all, compareConnections)
}

func compareConnections(a, b Connection) int { return byVHostAndName(a.VHost, a.Name, b.VHost, b.Name) }
