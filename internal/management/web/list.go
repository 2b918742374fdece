package web

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

// List answers with the items as the query asks for them: filtered by name and paged, sorted. Without a query they
// keep their order. Source: RabbitMQ management API, pagination; docs/compat/http-api.md#1.7.
func List[T any](r *Request, items []T, name func(*T) string) (Answer, error) {
	return ListShown(r, items, name, func(x *T) *T { return x })
}

// ListShown is list of what show makes of the items: of those only that are shown, one at a time. What show returns
// may be overwritten by the next call.
func ListShown[V, T any](r *Request, items []V, name func(*V) string, show func(*V) *T) (Answer, error) {
	query := r.URL.Query()
	p, err := ReadPaging(query)
	if err != nil {
		return Answer{}, err
	}
	total := len(items)
	if p != nil && p.Name != nil {
		items = slices.DeleteFunc(items, func(x V) bool { return !p.Name.Match(name(&x)) })
		if err := p.Name.Late(total); err != nil {
			return Answer{}, err
		}
	}
	shown := &Rendering[V, T]{Items: items, Show: show, Request: r}
	if by := query.Get("sort"); by != "" {
		if err := shown.sort(strings.Split(by, "."), query.Get("sort_reverse") == "true"); err != nil {
			return Answer{}, err
		}
	}
	if p == nil && shown.texts == nil {
		if err := r.TakeLarge(ItemsBytes[V](len(items))); err != nil {
			return Answer{}, err
		}
		return r.Streamed(func(row func(any) error) error {
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
		return Answer{Status: http.StatusOK, Text: text}, err
	}
	if err := p.Check(len(items)); err != nil {
		return Answer{}, err
	}
	first, last := p.Span()
	shown.keep(min(first, len(items)), min(last, len(items)))
	return PageAnswer(r, p, total, len(items), shown)
}

// columns are those that are wanted, nil being all.
func (r *Request) columns() [][]string {
	return columnsOf(cmp.Or(r.URL.Query().Get("columns"), r.fields))
}

// PageAnswer answers with a page, the items of which are shown: of so many items in all, and so many that match.
func PageAnswer[V, T any](r *Request, p *Paging, total, filtered int, shown *Rendering[V, T]) (Answer, error) {
	head, err := Encode(api.Page[T]{
		TotalCount: total, FilteredCount: filtered, ItemCount: len(shown.Items), Page: p.number, PageSize: p.size, PageCount: p.count(filtered),
	})
	if err != nil {
		return Answer{}, err
	}
	text, err := shown.list(bytes.TrimSuffix(head, []byte("[]}")), r.columns()) // the items are what comes last
	return Answer{Status: http.StatusOK, Text: append(text, '}')}, err
}

// ShowDefinition keeps statistics out of what is shown, if they are not wanted; the totals come back with
// enable_queue_totals=true. Source: RabbitMQ management API, disable_stats.
func (r *Request) ShowDefinition(fields string, totals ...string) {
	if !r.NoStatistics() {
		return
	}
	r.fields = fields
	if r.Flag("enable_queue_totals") {
		r.fields = strings.Join(append([]string{fields}, totals...), ",")
	}
}

// NoStatistics reports whether statistics are not wanted, by the query or else by the options.
func (r *Request) NoStatistics() bool {
	return r.Flag("disable_stats") || r.hideStatistics && r.URL.Query().Get("disable_stats") == ""
}

// ListAll answers with a list that has no names to filter by.
func ListAll[T any](r *Request, items []T) (Answer, error) {
	return List(r, items, func(*T) string { return "" })
}

// Paging is a part of a list that a query asks for.
type Paging struct {
	number, size int
	Name         *NamePattern // nil: any
}

// Span is where the page begins and ends in a list that is long enough.
func (p *Paging) Span() (first, last int) { return (p.number - 1) * p.size, p.number * p.size }

// count is how many pages so many items fill.
func (p *Paging) count(items int) int { return (items + p.size - 1) / p.size }

// Check refuses a page beyond the last one.
func (p *Paging) Check(items int) error {
	if n := p.count(items); p.number > max(n, 1) {
		return &api.Error{Status: http.StatusBadRequest, Kind: "page_out_of_range",
			Reason: fmt.Sprintf("page %d is beyond the last page, %d of %d items each", p.number, n, p.size)}
	}
	return nil
}

// ReadPaging reads the query; nil if it asks for no page.
func ReadPaging(query url.Values) (*Paging, error) {
	if query.Get("page") == "" {
		return nil, nil
	}
	number, err := strconv.Atoi(query.Get("page"))
	if err != nil || number < 1 {
		return nil, invalidPage("page must be an integer of at least 1, not '%s'", query.Get("page"))
	}
	p := &Paging{number: number, size: pageSizeUsual}
	if text := query.Get("page_size"); text != "" {
		if p.size, err = strconv.Atoi(text); err != nil || p.size < 1 || p.size > pageSizeMax {
			return nil, invalidPage("page_size must be an integer from 1 to %d, not '%s'", pageSizeMax, text)
		}
	}
	if p.number > 1<<31/p.size {
		return nil, invalidPage("page %d is too large", p.number)
	}
	name := query.Get("name")
	if name == "" {
		return p, nil
	}
	p.Name = &NamePattern{until: time.Now().Add(PatternPatience)}
	if query.Get("use_regex") != "true" {
		if isASCII(name) {
			p.Name.Literal = strings.ToLower(name)
		}
		name = regexp.QuoteMeta(name)
	}
	if len(name) > PatternBytesMax {
		return nil, invalidPage("name must not exceed %d bytes", PatternBytesMax)
	}
	if err := regex.Check("(?i)"+name, PatternSizeMax); err != nil {
		return nil, invalidPage("name is not a regular expression: %v", err)
	}
	if p.Name.pattern, err = regexp.Compile("(?i)" + name); err != nil {
		return nil, invalidPage("name is not a regular expression: %v", err)
	}
	return p, nil
}

func invalidPage(format string, args ...any) error {
	return &api.Error{Status: http.StatusBadRequest, Kind: "invalid_pagination_parameters", Reason: fmt.Sprintf(format, args...)}
}

// A NamePattern is what names of a list must match.
type NamePattern struct {
	Literal string // lower case ASCII: what a name must have in it, whatever the case; "": the expression decides
	pattern *regexp.Regexp

	until  time.Time // names are matched no longer than until then
	looked int
	over   bool // it was too long: nothing matches any more
}

// Late is the error that ends a request whose names were not all matched in time: with many names and a large
// expression that can take minutes, though time is linear in both.
func (p *NamePattern) Late(names int) error {
	if !p.over {
		return nil
	}
	return invalidPage("matching %d names with this expression takes longer than %v", names, PatternPatience)
}

// Match reports whether a name matches. To look for a literal takes a tenth of the time that an expression does.
func (p *NamePattern) Match(name string) bool {
	if p.Literal == "" || !isASCII(name) {
		if p.looked++; p.looked%64 == 0 && time.Now().After(p.until) {
			p.over = true
		}
		return !p.over && p.pattern.MatchString(name)
	}
	first, n := p.Literal[0], len(p.Literal)
	for i := 0; i+n <= len(name); i++ {
		if lower(name[i]) == first && strings.EqualFold(name[i:i+n], p.Literal) {
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

// A Rank is a value's place in an order: numbers come before words, words before strings. A missing value, or null,
// counts as 0. Source: RabbitMQ management API, sort.
type Rank struct {
	Class  int
	Number float64
	Text   string
}

func (a Rank) Compare(b Rank) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
}

// RankOf ranks a value in JSON, nil being none.
func RankOf(value []byte) (r Rank) {
	if value == nil || value[0] == 'n' {
		return r
	}
	var err error
	switch value[0] {
	case 't', 'f':
		r.Class, r.Text = 1, string(value)
	case '"':
		r.Class = 2
		err = json.Unmarshal(value, &r.Text)
	case '{', '[':
		r.Class = 3
	default:
		r.Number, err = strconv.ParseFloat(string(value), 64)
	}
	if err != nil {
		return Rank{Class: 3}
	}
	return r
}

// OnlyKnown refuses a query with a parameter that is none of those: what is ignored is taken for done.
func OnlyKnown(query url.Values, known []string) error {
	for name := range query {
		if !slices.Contains(known, name) {
			return BadRequest("unknown parameter '%s'; supported are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// IntOf reads a number of the query, which is usual unless it is given.
func (r *Request) IntOf(name string, usual, most int) (int, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 || n > most {
		return 0, BadRequest("%s must be a number from 0 to %d, not '%s'", name, most, given)
	}
	return n, nil
}
