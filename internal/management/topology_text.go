package management

import (
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/lint"
)

// Graphs as text, for documents: each edge is dashed if dead letters take it, dotted if it leads to an alternate
// exchange, and thick where dead letters may return.

// titleOf is what a node is called.
func titleOf(n *lint.Node) string {
	switch {
	case n.Queue != nil:
		return fmt.Sprintf("%s (%d)", n.Name, n.Queue.Ready+n.Queue.Unacked+n.Queue.Waiting+n.Queue.Held)
	case n.Exchange == nil:
		return n.Name + " (missing)"
	case n.Name == "":
		return "(default exchange)"
	}
	return n.Name + " (" + n.Exchange.Type + ")"
}

// labelOf is what stands beside an edge.
func labelOf(e *lint.Edge) string {
	label := strings.Join(e.Keys, ", ")
	if n := e.Count - len(e.Keys); n > 0 && len(e.Keys) > 0 {
		label += fmt.Sprintf(", … %d more", n)
	}
	switch {
	case e.OwnKeys:
		label = "own keys"
	case e.Kind == lint.EdgeAlternate:
		label = "alternate"
	case e.Kind == lint.EdgeDelayed:
		label = strings.TrimSpace("delayed " + label)
	}
	if e.Loop {
		label = strings.TrimSpace(label + " ↻")
	}
	return label
}

// mermaid writes a flow chart of Mermaid.
func mermaid(g *lint.Graph) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i := range g.Nodes {
		n := &g.Nodes[i]
		open, end := "([", "])" // exchanges
		if n.Queue != nil {
			open, end = "[", "]"
		}
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, open, mermaidText(titleOf(n)), end)
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		arrow := "-->"
		switch {
		case e.Kind == lint.EdgeDeadLetter || e.Kind == lint.EdgeAlternate:
			arrow = "-.->"
		case e.Loop:
			arrow = "==>"
		}
		if label := labelOf(e); label != "" {
			arrow += `|"` + mermaidText(label) + `"|`
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", e.From, arrow, e.To)
	}
	return b.String()
}

// mermaidText takes what means something to Mermaid out of a text.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < ' ':
			b.WriteByte(' ')
		case strings.ContainsRune("\"#<>&;`|", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// dot writes a graph for Graphviz.
func dot(g *lint.Graph) string {
	var b strings.Builder
	b.WriteString("digraph vhost {\n  rankdir=LR;\n")
	for i := range g.Nodes {
		n := &g.Nodes[i]
		style := "shape=ellipse"
		switch {
		case n.Queue != nil:
			style = "shape=box"
		case n.Exchange == nil:
			style = "shape=ellipse, style=dashed, color=red"
		}
		fmt.Fprintf(&b, "  n%d [label=%s, %s];\n", i, dotText(titleOf(n)), style)
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		var style []string
		if label := labelOf(e); label != "" {
			style = append(style, "label="+dotText(label))
		}
		switch e.Kind {
		case lint.EdgeDeadLetter:
			style = append(style, "style=dashed", "color=red")
		case lint.EdgeAlternate:
			style = append(style, "style=dotted")
		}
		if e.Loop {
			style = append(style, "penwidth=2")
		}
		fmt.Fprintf(&b, "  n%d -> n%d [%s];\n", e.From, e.To, strings.Join(style, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText quotes a text as Graphviz reads it.
func dotText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
