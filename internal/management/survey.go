package management

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/turns"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// survey copies what says where messages of a virtual host go, in portions between which it serves others, and has it used. Few
// are looked through at a time.
func (s *Server) survey(ctx context.Context, name string, use func(*vhost.Survey)) error {
	soon, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	var to vhost.Surveying
	for more := true; more; {
		if err := look(soon, s.engine, name, func(v *vhost.VHost) { more = v.SurveySome(&to, surveyPortion) }); err != nil {
			return err
		}
	}
	err := turns.From(ctx).Idle(func() error {
		select {
		case s.surveys <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return err
	}
	defer func() { <-s.surveys }()
	use(to.Survey())
	return nil
}

// survey surveys the virtual host that the path names, if the caller may see it.
func (r *request) survey(use func(*vhost.Survey)) error {
	if _, err := r.vhost(r.names[0]); err != nil {
		return err
	}
	return r.server.survey(r.Context(), r.names[0], use)
}

// count reads a number of the query, which is usual unless it is given.
func (r *request) count(name string, usual, most int) (int, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 || n > most {
		return 0, badRequest("%s must be a number from 0 to %d, not '%s'", name, most, given)
	}
	return n, nil
}

// getLint lists what will lose, delay or circulate messages, in one virtual host or in all that the caller may see.
func getLint(r *request) (answer, error) {
	hosts, err := r.shown(r.names...)
	if err != nil {
		return answer{}, err
	}
	most, err := r.count("limit", findingsUsual, findingsMax)
	if err != nil {
		return answer{}, err
	}
	least, err := severityOf(r.URL.Query().Get("severity"))
	if err != nil {
		return answer{}, err
	}
	code := r.URL.Query().Get("code")
	var shown api.Lint
	var all []lintFinding
	for _, h := range hosts {
		if len(r.names) == 0 && r.down(h.Name) {
			continue
		}
		err := r.server.survey(r.Context(), h.Name, func(s *vhost.Survey) {
			for _, f := range s.Findings() {
				if f.Severity < least || code != "" && f.Code != code {
					continue
				}
				switch f.Severity {
				case vhost.Error:
					shown.Errors++
				case vhost.Warning:
					shown.Warnings++
				default:
					shown.Notes++
				}
				all = append(all, lintFinding{f, h.Name})
			}
		})
		if err != nil {
			return answer{}, err
		}
	}
	for severity := vhost.Error; ; severity-- {
		for i := range all {
			switch {
			case all[i].Severity != severity:
			case len(shown.Findings) == most:
				shown.Partial = true
			default:
				shown.Findings = append(shown.Findings, showFinding(all[i].vhost, &all[i].Finding))
			}
		}
		if severity == vhost.Note {
			return ok(shown)
		}
	}
}

type lintFinding struct {
	vhost.Finding
	vhost string
}

// severityOf reads the least severity that is asked for.
func severityOf(name string) (vhost.Severity, error) {
	for s := vhost.Note; s <= vhost.Error; s++ {
		if name == s.String() {
			return s, nil
		}
	}
	if name == "" {
		return vhost.Note, nil
	}
	return 0, badRequest("severity must be error, warning or note, not '%s'", name)
}

func showFinding(host string, f *vhost.Finding) api.Finding {
	return api.Finding{Code: f.Code, Severity: f.Severity.String(), VHost: host, Kind: f.Kind, Name: f.Name, Text: f.Text(), Params: showParams(f.Params)}
}

func showParams(params []vhost.Param) api.Object[string] {
	shown := api.Object[string]{}
	for _, p := range params {
		shown[p.Name] = p.Value
	}
	return shown
}

// getTopology shows exchanges, queues and the ways between them.
func getTopology(r *request) (answer, error) {
	query := r.URL.Query()
	depth, err := r.count("depth", depthUsual, depthMax)
	if err != nil {
		return answer{}, err
	}
	most, err := r.count("limit", nodesUsual, nodesMax)
	if err != nil {
		return answer{}, err
	}
	text, err := formatOf(query.Get("format"))
	if err != nil {
		return answer{}, err
	}
	a := answer{status: http.StatusOK}
	err = r.survey(func(s *vhost.Survey) {
		g, found := s.Graph(query.Get("root"), depth, most)
		switch {
		case !found:
			a.status = http.StatusNotFound
		case text != nil:
			a.text, a.header = []byte(text(g)), http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		default:
			a.body = showTopology(s, g, query.Get("root"))
		}
	})
	if a.status == http.StatusNotFound {
		return answer{}, errNotFound
	}
	return a, err
}

// nodeID names a node.
func nodeID(n *vhost.Node) string {
	if n.Queue != nil {
		return "q:" + n.Name
	}
	return "e:" + n.Name
}

func showTopology(s *vhost.Survey, g *vhost.Graph, root string) api.Topology {
	shown := api.Topology{VHost: s.VHost, Root: root, Exchanges: len(s.Exchanges), Queues: len(s.Queues), Bindings: len(s.Bindings), Partial: g.Partial}
	places := map[string]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		places[nodeID(n)] = i
		shown.Nodes = append(shown.Nodes, showNode(n))
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		shown.Edges = append(shown.Edges, api.TopologyEdge{
			From: nodeID(&g.Nodes[e.From]), To: nodeID(&g.Nodes[e.To]), Kind: e.Kind.String(), Keys: e.Keys, OwnKeys: e.OwnKeys,
			Count: e.Count, Arguments: api.Arguments(e.Arguments), Implicit: e.Implicit, Loop: e.Loop,
		})
	}
	for _, f := range s.Findings() {
		i, here := places[f.Kind[:1]+":"+f.Name]
		if !here || f.Kind == "policy" || f.Kind == "vhost" {
			continue
		}
		if n := &shown.Nodes[i]; n.Severity == "" { // the worst comes first
			n.Severity = f.Severity.String()
		}
		if len(shown.Findings) == findingsUsual {
			shown.Partial = true
			continue
		}
		shown.Findings = append(shown.Findings, showFinding(s.VHost, &f))
	}
	return shown
}

func showNode(n *vhost.Node) api.TopologyNode {
	shown := api.TopologyNode{ID: nodeID(n), Kind: toExchange, Name: n.Name, Hidden: n.Hidden}
	switch {
	case n.Exchange != nil:
		x := n.Exchange
		shown.Type, shown.Durable, shown.AutoDelete, shown.Internal, shown.Scheduled = x.Type, x.Durable, x.AutoDelete, x.Internal, int64(x.Scheduled)
	case n.Queue != nil:
		q := n.Queue
		shown.Kind, shown.Type, shown.Durable, shown.AutoDelete, shown.Exclusive = toQueue, q.Type, q.Durable, q.AutoDelete, q.Exclusive
		shown.Queue = showSurveyed(n)
	default:
		shown.Missing = true
	}
	return shown
}

func showSurveyed(n *vhost.Node) *api.SurveyedQueue {
	q, set := n.Queue, &n.Queue.Settings
	shown := &api.SurveyedQueue{
		Ready: int64(q.Ready), Unacked: int64(q.Unacked), Waiting: int64(q.Waiting), Held: int64(q.Held), Bytes: q.Bytes,
		Consumers: q.Consumers, Letters: n.Letters, Loop: n.Loop, Strategy: "at-most-once",
		MessageTTL: given(set.TTL), Expires: given(set.Expires), MaxLength: given(set.MaxLength), MaxLengthBytes: given(set.MaxLengthBytes),
		Overflow: set.Overflow.String(), DeliveryLimit: given(set.DeliveryLimit), Policy: q.Policy, OperatorPolicy: q.OperatorPolicy,
	}
	if dlx, ok := set.DLX(); ok {
		shown.DeadLetterExchange = &dlx
	}
	if key, ok := set.DLRK(); ok {
		shown.DeadLetterRoutingKey = &key
	}
	if set.AtLeastOnce {
		shown.Strategy = "at-least-once"
	}
	switch {
	case q.Full:
		shown.State = "full"
	case q.Consumers > 0:
		shown.State = "flowing"
	case q.Ready+q.Unacked+q.Waiting+q.Held == 0:
		shown.State = "empty"
	default:
		shown.State = "resting"
	}
	return shown
}

// given is a setting, nil if there is none.
func given(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// formatOf finds how a graph is written as text; nil for JSON.
func formatOf(name string) (func(*vhost.Graph) string, error) {
	switch strings.ToLower(name) {
	case "", "json":
		return nil, nil
	case "mermaid":
		return mermaid, nil
	case "dot":
		return dot, nil
	}
	return nil, badRequest("format must be json, mermaid or dot, not '%s'", name)
}
