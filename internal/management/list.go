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
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/regex"
)

// list answers with the items as the query asks for them: filtered by name and paged, sorted. Without a query they
// keep their order. Source: RabbitMQ management API, pagination; reference http-api 1.7.
func list[T any](r *request, items []T, name func(*T) string) (answer, error) {
	return listShown(r, items, name, func(x *T) *T { return x })
}

// listShown is list of what show makes of the items: of those only that are shown, one at a time. What show returns
// may be overwritten by the next call.
func listShown[V, T any](r *request, items []V, name func(*V) string, show func(*V) *T) (answer, error) {
	query := r.URL.Query()
	p, err := pageOf(query)
	if err != nil {
		return answer{}, err
	}
	total := len(items)
	if p != nil && p.name != nil {
		items = slices.DeleteFunc(items, func(x V) bool { return !p.name.match(name(&x)) })
		if err := p.name.late(total); err != nil {
			return answer{}, err
		}
	}
	shown := &rendering[V, T]{items: items, show: show, admit: r.takeAnswer}
	if by := query.Get("sort"); by != "" {
		if err := shown.sort(strings.Split(by, "."), query.Get("sort_reverse") == "true"); err != nil {
			return answer{}, err
		}
	}
	if p == nil && shown.texts == nil {
		if err := r.takeLarge(itemsBytes[V](len(items))); err != nil {
			return answer{}, err
		}
		return r.streamed(func(row func(any) error) error {
			for i := range items {
				if err := row(show(&items[i])); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if p == nil {
		text, err := shown.list(nil, r.columns())
		return answer{status: http.StatusOK, text: text}, err
	}
	if err := p.check(len(items)); err != nil {
		return answer{}, err
	}
	first, last := p.span()
	shown.keep(min(first, len(items)), min(last, len(items)))
	return pageAnswer(r, p, total, len(items), shown)
}

// columns are those that are wanted, nil being all.
func (r *request) columns() [][]string {
	return columnsOf(cmp.Or(r.URL.Query().Get("columns"), r.fields))
}

// pageAnswer answers with a page, the items of which are shown: of so many items in all, and so many that match.
func pageAnswer[V, T any](r *request, p *paging, total, filtered int, shown *rendering[V, T]) (answer, error) {
	head, err := encode(api.Page[T]{
		TotalCount: total, FilteredCount: filtered, ItemCount: len(shown.items), Page: p.number, PageSize: p.size, PageCount: p.count(filtered),
	})
	if err != nil {
		return answer{}, err
	}
	text, err := shown.list(bytes.TrimSuffix(head, []byte("[]}")), r.columns()) // the items are what comes last
	return answer{status: http.StatusOK, text: append(text, '}')}, err
}

// showDefinition keeps statistics out of what is shown, if they are not wanted; the totals come back with
// enable_queue_totals=true. Source: RabbitMQ management API, disable_stats.
func (r *request) showDefinition(fields string, totals ...string) {
	if !r.noStatistics() {
		return
	}
	r.fields = fields
	if r.flag("enable_queue_totals") {
		r.fields = strings.Join(append([]string{fields}, totals...), ",")
	}
}

// noStatistics reports whether statistics are not wanted, by the query or else by the options.
func (r *request) noStatistics() bool {
	return r.flag("disable_stats") || r.server.options.NoStatistics && r.URL.Query().Get("disable_stats") == ""
}

// plain answers with a list that has no names to filter by.
func plain[T any](r *request, items []T) (answer, error) {
	return list(r, items, func(*T) string { return "" })
}

// paging is a part of a list that a query asks for.
type paging struct {
	number, size int
	name         *namePattern // nil: any
}

// span is where the page begins and ends in a list that is long enough.
func (p *paging) span() (first, last int) { return (p.number - 1) * p.size, p.number * p.size }

// count is how many pages so many items fill.
func (p *paging) count(items int) int { return (items + p.size - 1) / p.size }

// check refuses a page beyond the last one.
func (p *paging) check(items int) error {
	if n := p.count(items); p.number > max(n, 1) {
		return &api.Error{Status: http.StatusBadRequest, Kind: "page_out_of_range",
			Reason: fmt.Sprintf("page %d is beyond the last page, %d of %d items each", p.number, n, p.size)}
	}
	return nil
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
	p.name = &namePattern{until: time.Now().Add(patternPatience)}
	if query.Get("use_regex") != "true" {
		if isASCII(name) {
			p.name.literal = strings.ToLower(name)
		}
		name = regexp.QuoteMeta(name)
	}
	if len(name) > patternBytesMax {
		return nil, invalidPage("name must not exceed %d bytes", patternBytesMax)
	}
	if err := regex.Check("(?i)"+name, patternSizeMax); err != nil {
		return nil, invalidPage("name is not a regular expression: %v", err)
	}
	if p.name.pattern, err = regexp.Compile("(?i)" + name); err != nil {
		return nil, invalidPage("name is not a regular expression: %v", err)
	}
	return p, nil
}

func invalidPage(format string, args ...any) error {
	return &api.Error{Status: http.StatusBadRequest, Kind: "invalid_pagination_parameters", Reason: fmt.Sprintf(format, args...)}
}

// A namePattern is what names of a list must match.
type namePattern struct {
	literal string // lower case ASCII: what a name must have in it, whatever the case; "": the expression decides
	pattern *regexp.Regexp

	until  time.Time // names are matched no longer than until then
	looked int
	over   bool // it was too long: nothing matches any more
}

// late is the error that ends a request whose names were not all matched in time: with many names and a large expression that
// can take minutes, though time is linear in both.
func (p *namePattern) late(names int) error {
	if !p.over {
		return nil
	}
	return invalidPage("to match %d names with this expression takes longer than %v", names, patternPatience)
}

// match reports whether a name matches. To look for a literal takes a tenth of the time that an expression does.
func (p *namePattern) match(name string) bool {
	if p.literal == "" || !isASCII(name) {
		if p.looked++; p.looked%64 == 0 && time.Now().After(p.until) {
			p.over = true
		}
		return !p.over && p.pattern.MatchString(name)
	}
	first, n := p.literal[0], len(p.literal)
	for i := 0; i+n <= len(name); i++ {
		if lower(name[i]) == first && strings.EqualFold(name[i:i+n], p.literal) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// A rank is a value's place in an order: numbers come before words, words before strings. A missing value, or null, counts
// as 0. Source: RabbitMQ management API, sort.
type rank struct {
	class  int
	number float64
	text   string
}

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
}

// rankOf ranks a value in JSON, nil being none.
func rankOf(value []byte) (r rank) {
	if value == nil || value[0] == 'n' {
		return r
	}
	var err error
	switch value[0] {
	case 't', 'f':
		r.class, r.text = 1, string(value)
	case '"':
		r.class = 2
		err = json.Unmarshal(value, &r.text)
	case '{', '[':
		r.class = 3
	default:
		r.number, err = strconv.ParseFloat(string(value), 64)
	}
	if err != nil {
		return rank{class: 3}
	}
	return r
}
