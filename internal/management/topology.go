package management

import (
	"net/http"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/lint"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func topologyEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/topology/{vhost}", Tag: authz.Management, Serve: getTopology, Slow: true, Scope: web.Leader,
			Summary: "Graph of exchanges, queues and their connections; format=json, mermaid or dot", Out: api.Topology{},
		},
		{
			Pattern: "GET x/lint", Tag: authz.Management, Serve: getLint, Slow: true, Scope: web.AllNodes,
			Summary: "Lint findings of all virtual hosts", Out: api.Lint{},
		},
		{
			Pattern: "GET x/lint/{vhost}", Tag: authz.Management, Serve: getLint, Slow: true, Scope: web.Leader,
			Summary: "Lint findings of a virtual host", Out: api.Lint{},
		},
	}
}

// analyze analyzes the virtual host that the path names, if the caller may see it.
func analyze(r *web.Request, use func(*lint.Analysis)) error {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return err
	}
	return r.Analyze(r.Context(), r.PathValue("vhost"), use)
}

// getLint lists what will lose, delay or circulate messages, in one virtual host or in all that the caller may see.
func getLint(r *web.Request) (web.Answer, error) {
	hosts, err := r.ShownVHosts()
	if err != nil {
		return web.Answer{}, err
	}
	most, err := r.IntOf("limit", findingsUsual, findingsMax)
	if err != nil {
		return web.Answer{}, err
	}
	least, err := severityOf(r.URL.Query().Get("severity"))
	if err != nil {
		return web.Answer{}, err
	}
	code := r.URL.Query().Get("code")
	var shown api.Lint
	var all []lintFinding
	for _, h := range hosts {
		if !r.Has("vhost") && r.IsDown(h.Name) {
			continue
		}
		err := r.Analyze(r.Context(), h.Name, func(s *lint.Analysis) {
			for _, f := range s.Findings() {
				if f.Severity < least || code != "" && f.Code != code {
					continue
				}
				switch f.Severity {
				case lint.Error:
					shown.Errors++
				case lint.Warning:
					shown.Warnings++
				default:
					shown.Notes++
				}
				all = append(all, lintFinding{f, h.Name})
			}
		})
		if err != nil {
			return web.Answer{}, err
		}
	}
	for severity := lint.Error; ; severity-- {
		for i := range all {
			switch {
			case all[i].Severity != severity:
			case len(shown.Findings) == most:
				shown.Partial = true
			default:
				shown.Findings = append(shown.Findings, showFinding(all[i].vhost, &all[i].Finding))
			}
		}
		if severity == lint.Note {
			return web.OK(shown)
		}
	}
}

type lintFinding struct {
	lint.Finding
	vhost string
}

// severityOf reads the least severity that is asked for.
func severityOf(name string) (lint.Severity, error) {
	for s := lint.Note; s <= lint.Error; s++ {
		if name == s.String() {
			return s, nil
		}
	}
	if name == "" {
		return lint.Note, nil
	}
	return 0, web.BadRequest("severity must be error, warning or note, not '%s'", name)
}

func showFinding(host string, f *lint.Finding) api.Finding {
	return api.Finding{Code: f.Code, Severity: f.Severity.String(), VHost: host, Kind: f.Kind, Name: f.Name, Text: f.Text(), Params: showParams(f.Params)}
}

func showParams(params []lint.Param) api.Object[string] {
	shown := api.Object[string]{}
	for _, p := range params {
		shown[p.Name] = p.Value
	}
	return shown
}

// getTopology shows exchanges, queues and the ways between them.
func getTopology(r *web.Request) (web.Answer, error) {
	query := r.URL.Query()
	depth, err := r.IntOf("depth", depthUsual, depthMax)
	if err != nil {
		return web.Answer{}, err
	}
	most, err := r.IntOf("limit", nodesUsual, nodesMax)
	if err != nil {
		return web.Answer{}, err
	}
	text, err := formatOf(query.Get("format"))
	if err != nil {
		return web.Answer{}, err
	}
	a := web.Answer{Status: http.StatusOK}
	err = analyze(r, func(s *lint.Analysis) {
		g, found := s.Graph(query.Get("root"), depth, most)
		switch {
		case !found:
			a.Status = http.StatusNotFound
		case text != nil:
			a.Text, a.Header = []byte(text(g)), http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		default:
			a.Body = showTopology(s, g, query.Get("root"))
		}
	})
	if a.Status == http.StatusNotFound {
		return web.Answer{}, web.ErrNotFound
	}
	return a, err
}

// nodeID names a node.
func nodeID(n *lint.Node) string {
	if n.Queue != nil {
		return "q:" + n.Name
	}
	return "e:" + n.Name
}

func showTopology(s *lint.Analysis, g *lint.Graph, root string) api.Topology {
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

func showNode(n *lint.Node) api.TopologyNode {
	shown := api.TopologyNode{ID: nodeID(n), Kind: resources.ToExchange, Name: n.Name, Hidden: n.Hidden}
	switch {
	case n.Exchange != nil:
		x := n.Exchange
		shown.Type, shown.Durable, shown.AutoDelete, shown.Internal, shown.Scheduled = x.Type, x.Durable, x.AutoDelete, x.Internal, int64(x.Scheduled)
	case n.Queue != nil:
		q := n.Queue
		shown.Kind, shown.Type, shown.Durable, shown.AutoDelete, shown.Exclusive = resources.ToQueue, q.Type, q.Durable, q.AutoDelete, q.Exclusive
		shown.Queue = showTopologyQueue(n)
	default:
		shown.Missing = true
	}
	return shown
}

func showTopologyQueue(n *lint.Node) *api.TopologyQueue {
	q, set := n.Queue, &n.Queue.Settings
	shown := &api.TopologyQueue{
		Ready: int64(q.Ready), Unacked: int64(q.Unacked), Waiting: int64(q.Waiting), Held: int64(q.Held), Bytes: q.Bytes,
		Consumers: q.Consumers, Role: n.Role.String(), DeadLetterQueue: n.Role == lint.RoleDeadLetter, Loop: n.Loop, Strategy: "at-most-once",
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
func formatOf(name string) (func(*lint.Graph) string, error) {
	switch strings.ToLower(name) {
	case "", "json":
		return nil, nil
	case "mermaid":
		return mermaid, nil
	case "dot":
		return dot, nil
	}
	return nil, web.BadRequest("format must be json, mermaid or dot, not '%s'", name)
}
