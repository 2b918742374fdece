package rabbitmqadmin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// An adminList is something that rabbitmqadmin lists.
type adminList struct {
	thing   string
	path    string // with a virtual host: {} stands for it; "" is not narrowed
	columns string // if none are asked for, all if empty
	asJSON  string // columns that are shown as JSON
	one     bool   // it is no list
}

var adminLists = []adminList{
	{"connections", "vhosts {} connections", "name user channels", "", false},
	{"channels", "vhosts {} channels", "name user", "", false},
	{"consumers", "consumers {}", "", "", false},
	{"exchanges", "exchanges {}", "name type", "", false},
	{"queues", "queues {}", "name messages", "", false},
	{"bindings", "bindings {}", "source destination routing_key", "", false},
	{"users", "", "", "", false},
	{"vhosts", "", "name messages", "", false},
	{"permissions", "vhosts {} permissions", "", "", false},
	{"nodes", "", "name type mem_used", "", false},
	{"parameters", "", "", "value", false},
	{"policies", "policies {}", "", "definition", false},
	{"operator_policies", "operator-policies {}", "", "definition", false},
	{"vhost_limits", "vhost-limits {}", "", "value", false},
	{"overview", "", "rabbitmq_version cluster_name queue_totals.messages object_totals.queues", "", true},
}

func (a *admin) list(verb string, rest []string) error {
	if len(rest) == 0 {
		return mistake(fmt.Sprintf("what to %s is not specified; known: %s", verb, strings.Join(things(verb), ", ")))
	}
	i := slices.IndexFunc(adminLists, func(l adminList) bool { return l.thing == rest[0] && l.one == (verb == "show") })
	if i < 0 {
		return mistake(fmt.Sprintf("Don't know how to %s %s; known: %s", verb, rest[0], strings.Join(things(verb), ", ")))
	}
	l := &adminLists[i]
	path := api.Path(strings.ReplaceAll(l.thing, "_", "-"))
	if vhost, ok := a.options["vhost"]; ok && l.path != "" {
		segments := strings.Fields(l.path)
		segments[slices.Index(segments, "{}")] = vhost
		path = api.Path(segments...)
	}
	columns := rest[1:]
	if _, deep := a.options["depth"]; len(columns) == 0 && !deep && !strings.HasSuffix(a.or("format", "table"), "_json") {
		columns = strings.Fields(l.columns)
	}
	query := url.Values{}
	if len(columns) > 0 {
		query.Set("columns", strings.Join(columns, ","))
	}
	if by, ok := a.options["sort"]; ok {
		query.Set("sort", by)
		query.Set("sort_reverse", a.or("sort-reverse", "false"))
	}
	if len(query) > 0 {
		path += "?" + strings.ReplaceAll(query.Encode(), "%2C", ",")
	}
	var found rawJSON
	if err := a.ask(http.MethodGet, path, nil, &found); err != nil {
		return err
	}
	if l.one {
		found = slices.Concat(rawJSON("["), found, rawJSON("]"))
	}
	return a.print(found, columns, l)
}

// things are what can be listed, or shown.
func things(verb string) (names []string) {
	for i := range adminLists {
		if adminLists[i].one == (verb == "show") {
			names = append(names, adminLists[i].thing)
		}
	}
	return names
}

// adminFormats are the forms of what is printed.
var adminFormats = []string{"raw_json", "pretty_json", "tsv", "long", "table", "kvp", "bash"}

// An object is what the management API lists.
type object map[string]json.RawMessage

// A flat is an object whose inner objects were taken apart: a.b.
type flat map[string]string

// print shows objects in the wanted format. Without columns there are all that the objects have.
func (a *admin) print(found rawJSON, columns []string, l *adminList) error {
	switch a.or("format", "table") {
	case "raw_json":
		fmt.Fprintf(a.JSON, "%s\n", found)
		return nil
	case "pretty_json":
		var b bytes.Buffer
		if err := json.Indent(&b, found, "", "  "); err != nil {
			return err
		}
		fmt.Fprintln(a.JSON, b.String())
		return nil
	}
	depth, err := strconv.Atoi(a.or("depth", "1"))
	if err != nil || depth < 1 {
		return mistake("the depth must be a number from 1")
	}
	var objects []object
	if err := json.Unmarshal(found, &objects); err != nil {
		return err
	}
	deepest := depth
	for _, c := range columns {
		deepest = max(deepest, strings.Count(c, ".")+1)
	}
	rows := make([]flat, len(objects))
	for i, o := range objects {
		rows[i] = flat{}
		rows[i].add("", o, deepest, slices.Concat(strings.Fields(l.asJSON), columns))
	}
	if len(columns) == 0 {
		columns = allColumns(rows)
	}
	a.printRows(shownRows(columns, rows))
	return nil
}

// add takes an object apart down to a depth. What lies deeper is left out, or JSON, if it is wanted.
func (f flat) add(prefix string, o object, depth int, asJSON []string) {
	for key, v := range o {
		name := prefix + key
		var inner object
		if len(v) == 0 || v[0] != '{' || json.Unmarshal(v, &inner) != nil {
			f[name] = adminText(v)
			continue
		}
		if depth > 1 {
			f.add(name+".", inner, depth-1, asJSON)
		}
		if len(inner) > 0 && slices.Contains(asJSON, name) {
			f[name] = spaced(v)
		}
	}
}

// spaced writes JSON as Python does, with a blank behind colons and commas.
func spaced(v output.Cell) string {
	var b strings.Builder
	inText, escaped := false, false
	for _, r := range string(v) {
		b.WriteRune(r)
		switch {
		case escaped:
			escaped = false
		case inText && r == '\\':
			escaped = true
		case r == '"':
			inText = !inText
		case !inText && (r == ':' || r == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// adminText shows a value as rabbitmqadmin does.
func adminText(v output.Cell) string {
	var list []output.Cell
	switch {
	case string(v) == "true":
		return "True"
	case string(v) == "false":
		return "False"
	case len(v) > 0 && v[0] == '[' && json.Unmarshal(v, &list) == nil:
		words := make([]string, len(list))
		for i, item := range list {
			words[i] = adminText(item)
		}
		return strings.Join(words, " ")
	case len(v) > 0 && v[0] == '"':
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	case string(v) == "null":
		return ""
	}
	return string(v)
}

// allColumns are those that any row has: vhost, name and routing key first.
func allColumns(rows []flat) []string {
	seen := map[string]bool{}
	var columns []string
	for _, r := range rows {
		for name := range r {
			if !seen[name] {
				seen[name] = true
				columns = append(columns, name)
			}
		}
	}
	rank := func(name string) int { return slices.Index([]string{"routing_key", "name", "vhost"}, name) }
	slices.SortFunc(columns, func(a, b string) int {
		if rank(a) != rank(b) {
			return rank(b) - rank(a)
		}
		return strings.Compare(a, b)
	})
	return columns
}

// shownRows are the rows with what controls a terminal escaped, as bartleby ctl does in tables: names are whatever
// users of the broker have chosen.
func shownRows(columns []string, rows []flat) ([]string, []flat) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = output.Escape(c)
	}
	shown := make([]flat, len(rows))
	for i, r := range rows {
		shown[i] = flat{}
		for name, v := range r {
			shown[i][output.Escape(name)] = output.Escape(v)
		}
	}
	return names, shown
}

func (a *admin) printRows(columns []string, rows []flat) {
	line := func(r flat) []string {
		values := make([]string, len(columns))
		for i, c := range columns {
			values[i] = r[c]
		}
		return values
	}
	switch a.or("format", "table") {
	case "tsv":
		fmt.Fprintln(a.Stdout, strings.Join(columns, "\t"))
		for _, r := range rows {
			fmt.Fprintln(a.Stdout, strings.Join(line(r), "\t"))
		}
	case "kvp":
		for _, r := range rows {
			var pairs []string
			for i, v := range line(r) {
				pairs = append(pairs, fmt.Sprintf("%s=\"%s\"", columns[i], v))
			}
			fmt.Fprintln(a.Stdout, strings.Join(pairs, " "))
		}
	case "bash":
		var names []string
		for _, r := range rows {
			if name, ok := r["name"]; ok {
				names = append(names, name)
			}
		}
		fmt.Fprintln(a.Stdout, strings.Join(names, " "))
	case "long":
		a.printLong(columns, rows)
	default:
		var lines [][]string
		for _, r := range rows {
			lines = append(lines, line(r))
		}
		a.printTable(columns, lines)
	}
}

func (a *admin) printLong(columns []string, rows []flat) {
	width := 0
	for _, c := range columns {
		width = max(width, utf8.RuneCountInString(c))
	}
	rule := "\n" + strings.Repeat("-", 80) + "\n\n"
	fmt.Fprint(a.Stdout, rule)
	for _, r := range rows {
		for _, c := range columns {
			fmt.Fprintf(a.Stdout, "%*s: %s\n", width, c, r[c])
		}
		fmt.Fprint(a.Stdout, rule)
	}
}

func (a *admin) printTable(columns []string, lines [][]string) {
	if len(lines) == 0 {
		fmt.Fprintln(a.Stdout, "No items")
		return
	}
	widths := make([]int, len(columns))
	for _, line := range append([][]string{columns}, lines...) {
		for i, text := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	rule := "+"
	for _, n := range widths {
		rule += strings.Repeat("-", n+2) + "+"
	}
	header := "|"
	for i, c := range columns {
		room := widths[i] - utf8.RuneCountInString(c)
		header += " " + strings.Repeat(" ", room/2) + c + strings.Repeat(" ", room-room/2) + " |"
	}
	fmt.Fprintf(a.Stdout, "%s\n%s\n%s\n", rule, header, rule)
	for _, line := range lines {
		out := "|"
		for i, text := range line {
			out += " " + text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)) + " |"
		}
		fmt.Fprintln(a.Stdout, out)
	}
	fmt.Fprintln(a.Stdout, rule)
}
