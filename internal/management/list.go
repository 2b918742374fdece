package management

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// list answers with the items as the query asks for them: filtered by name and paged, sorted. Without a query they
// keep their order. Source: RabbitMQ management API, pagination; reference http-api 1.7.
func list[T any](r *request, items []T, name func(*T) string) (answer, error) {
	query := r.URL.Query()
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	total := len(items)
	if p != nil && p.name != nil {
		items = slices.DeleteFunc(items, func(x T) bool { return !p.name.MatchString(name(&x)) })
	}
	if by := query.Get("sort"); by != "" {
		if items, err = sorted(items, by, query.Get("sort_reverse") == "true"); err != nil {
			return answer{}, err
		}
	}
	if p == nil {
		return ok(api.List[T](items))
	}
	count := (len(items) + p.size - 1) / p.size
	if p.number > max(count, 1) {
		return answer{}, &api.Error{Status: http.StatusBadRequest, Kind: "page_out_of_range",
			Reason: fmt.Sprintf("page %d is beyond the last page, %d of %d items each", p.number, count, p.size)}
	}
	first := min((p.number-1)*p.size, len(items))
	shown := items[first:min(first+p.size, len(items))]
	return answer{status: http.StatusOK, paged: true, body: api.Page[T]{
		TotalCount: total, FilteredCount: len(items), ItemCount: len(shown),
		Page: p.number, PageSize: p.size, PageCount: count, Items: shown,
	}}, nil
}

// plain answers with a list that has no names to filter by.
func plain[T any](r *request, items []T) (answer, error) {
	return list(r, items, func(*T) string { return "" })
}

// paging is a part of a list that a query asks for.
type paging struct {
	number, size int
	name         *regexp.Regexp // nil: any
}

// pageOf reads the query; nil if it asks for no page.
func pageOf(query url.Values) (*paging, error) {
	if query.Get("page") == "" {
		return nil, nil
	}
	number, err := strconv.Atoi(query.Get("page"))
	if err != nil || number < 1 {
		return nil, invalidPage("page must be an integer of at least 1, not '%s'", query.Get("page"))
	}
	p := &paging{number: number, size: pageSizeUsual}
	if text := query.Get("page_size"); text != "" {
		if p.size, err = strconv.Atoi(text); err != nil || p.size < 1 || p.size > pageSizeMax {
			return nil, invalidPage("page_size must be an integer from 1 to %d, not '%s'", pageSizeMax, text)
		}
	}
	if p.number > 1<<31/p.size {
		return nil, invalidPage("page %d is beyond any list", p.number)
	}
	name := query.Get("name")
	if name == "" {
		return p, nil
	}
	if query.Get("use_regex") != "true" {
		name = regexp.QuoteMeta(name)
	}
	if len(name) > patternBytesMax {
		return nil, invalidPage("name must not exceed %d bytes", patternBytesMax)
	}
	if p.name, err = regexp.Compile("(?i)" + name); err != nil {
		return nil, invalidPage("name is not a regular expression: %v", err)
	}
	return p, nil
}

func invalidPage(format string, args ...any) error {
	return &api.Error{Status: http.StatusBadRequest, Kind: "invalid_pagination_parameters", Reason: fmt.Sprintf(format, args...)}
}

// sorted orders items by one field, whose name may descend with dots. A missing value counts as 0.
func sorted[T any](items []T, by string, reverse bool) ([]T, error) {
	type keyed struct {
		item T
		key  any
	}
	path := strings.Split(by, ".")
	all := make([]keyed, len(items))
	for i, x := range items {
		text, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		var tree any
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(&tree); err != nil {
			return nil, err
		}
		all[i] = keyed{x, descend(tree, path)}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		if reverse {
			a, b = b, a
		}
		return compareValues(a.key, b.key)
	})
	out := make([]T, len(all))
	for i := range all {
		out[i] = all[i].item
	}
	return out, nil
}

func descend(tree any, path []string) any {
	for _, key := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = object[key]
	}
	return tree
}

// compareValues orders as RabbitMQ does: numbers, then words, then strings.
func compareValues(a, b any) int {
	ra, na, sa := rank(a)
	rb, nb, sb := rank(b)
	return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(na, nb), cmp.Compare(sa, sb))
}

func rank(v any) (class int, number float64, text string) {
	switch v := v.(type) {
	case nil:
		return 0, 0, ""
	case float64:
		return 0, v, ""
	case bool:
		return 1, 0, strconv.FormatBool(v)
	case string:
		return 2, 0, v
	}
	return 3, 0, ""
}

// columnsOf reads names with commas between, each a way down with dots; nil for none.
func columnsOf(names string) [][]string {
	if names == "" {
		return nil
	}
	var columns [][]string
	for c := range strings.SplitSeq(names, ",") {
		columns = append(columns, strings.Split(c, "."))
	}
	return columns
}

// project keeps the columns of an object, or of each object of a list.
func project(tree any, columns [][]string) any {
	switch tree := tree.(type) {
	case []any:
		for i := range tree {
			tree[i] = project(tree[i], columns)
		}
		return tree
	case map[string]any:
		kept := map[string]any{}
		for _, path := range columns {
			keep(kept, tree, path)
		}
		return kept
	}
	return tree
}

// keep copies one field, descending where the path does.
func keep(to, from map[string]any, path []string) {
	value, ok := from[path[0]]
	if !ok {
		return
	}
	inner, isObject := value.(map[string]any)
	if len(path) == 1 || !isObject {
		if len(path) == 1 {
			to[path[0]] = value
		}
		return
	}
	below, _ := to[path[0]].(map[string]any)
	if below == nil {
		below = map[string]any{}
		to[path[0]] = below
	}
	keep(below, inner, path[1:])
}
