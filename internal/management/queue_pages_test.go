package management

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/liveheap"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// pages reads all pages of a list of queues, one after the other, and tells what it found by virtual host and name.
func (d *door) pages(query string) (names []string) {
	d.t.Helper()
	for number := 1; ; number++ {
		p := read[api.Page[api.Queue]](d, fmt.Sprintf("/api/queues?page=%d&page_size=7&%s", number, query))
		for i := range p.Items {
			names = append(names, p.Items[i].VHost+" "+p.Items[i].Name)
		}
		if p.FilteredCount < len(names) || p.ItemCount != len(p.Items) {
			d.t.Fatalf("page %d of %s: %d items, filtered %d, item count %d", number, query, len(names), p.FilteredCount, p.ItemCount)
		}
		if number >= p.PageCount {
			return names
		}
	}
}

func TestPagesOfQueuesAreCutFromTheList(t *testing.T) {
	// If this fails, a page of queues has other queues, or another order, than the list that it is a part of: whole
	// lists are sorted by the JSON of all queues, pages by samples of them.
	t.Parallel()
	d := open(t)
	d.want(http.StatusCreated, "PUT", "/api/vhosts/other", "")
	d.want(http.StatusCreated, "PUT", "/api/policies/%2F/some", `{"pattern":"^q1","apply-to":"queues","definition":{"max-length":50}}`)
	d.want(http.StatusCreated, "PUT", "/api/operator-policies/%2F/few", `{"pattern":"^q2","definition":{"max-length":40}}`)
	for i := range 40 {
		body := [...]string{`{"durable":true}`, `{"auto_delete":true}`, `{"durable":true,"arguments":{"x-queue-type":"quorum"}}`}[i%3]
		d.want(http.StatusCreated, "PUT", fmt.Sprintf("/api/queues/%s/q%d", [...]string{"%2F", "%2F", "other"}[i/7%3], i), body)
	}
	d.want(http.StatusCreated, "PUT", "/api/queues/%2F/K%C3%96NIG", `{}`)
	start := time.Unix(1_700_000_000, 0)
	dice := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		d.server.sampler.Read(start.Add(time.Duration(round) * 5 * time.Second))
		for range 60 {
			queue := fmt.Sprintf("q%d", dice.IntN(13)) // in /, and some nowhere
			d.publish("amq.default", queue, strings.Repeat("x", dice.IntN(50)))
			if i := dice.IntN(7); round > 0 && dice.IntN(2) == 0 {
				how := [...]string{"ack_requeue_false", "ack_requeue_true", "reject_requeue_false"}[dice.IntN(3)]
				d.take(fmt.Sprintf("q%d", i), fmt.Sprintf(`{"count":2,"ackmode":"%s","encoding":"auto"}`, how))
			}
		}
	}
	d.server.sampler.Read(start.Add(15 * time.Second))
	for _, name := range resources.SortColumns() {
		for _, reverse := range []string{"", "&sort_reverse=true"} {
			var want []string
			for _, q := range read[[]api.Queue](d, "/api/queues?sort="+name+reverse) {
				want = append(want, q.VHost+" "+q.Name)
			}
			if got := d.pages("sort=" + name + reverse); !slices.Equal(got, want) {
				t.Errorf("sorted by %s%s:\n%q, want\n%q", name, reverse, got, want)
			}
		}
	}
	var all, some []string
	for _, q := range read[[]api.Queue](d, "/api/queues") {
		all = append(all, q.VHost+" "+q.Name)
		if strings.Contains(q.Name, "1") {
			some = append(some, q.VHost+" "+q.Name)
		}
	}
	if got := d.pages(""); len(all) != 41 || !slices.Equal(got, all) {
		t.Errorf("pages have %q, the list %q", got, all)
	}
	for query, want := range map[string][]string{
		"name=1": some, "name=Q1&use_regex=false": slices.DeleteFunc(slices.Clone(some), func(s string) bool { return !strings.Contains(s, "q1") }),
		"name=%5Eq.*1&use_regex=true": some, "name=1$&use_regex=true": slices.DeleteFunc(slices.Clone(some), func(s string) bool { return !strings.HasSuffix(s, "1") }),
		"name=k%C3%B6n": {"/ KÖNIG"}, "name=nig": {"/ KÖNIG"}, "name=.": nil,
	} {
		if got := d.pages(query); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
		if got := d.pages(query + "&sort=durable"); len(got) != len(want) {
			t.Errorf("%s, sorted: %q, want %q", query, got, want)
		}
	}
}

func TestPagesOfQueuesShowWhatThereIs(t *testing.T) {
	// If this fails, a page lacks a queue that was just declared, or has one that was deleted.
	t.Parallel()
	d := open(t)
	dice := rand.New(rand.NewPCG(3, 4))
	there := map[string]bool{}
	for step := range 150 {
		for range dice.IntN(4) {
			name := fmt.Sprintf("q%d", dice.IntN(30))
			if there["/ "+name] {
				d.want(http.StatusNoContent, "DELETE", "/api/queues/%2F/"+name, "")
				delete(there, "/ "+name)
			} else {
				d.want(http.StatusCreated, "PUT", "/api/queues/%2F/"+name, `{}`)
				there["/ "+name] = true
			}
		}
		if step == 100 { // another virtual host under the same name: its numbers begin anew
			d.want(http.StatusNoContent, "DELETE", "/api/vhosts/%2F", "")
			d.want(http.StatusCreated, "PUT", "/api/vhosts/%2F", "")
			d.want(http.StatusNoContent, "PUT", "/api/permissions/%2F/guest", `{"configure":".*","write":".*","read":".*"}`)
			clear(there)
		}
		if got, want := d.pages(""), slices.Sorted(maps.Keys(there)); !slices.Equal(got, want) {
			t.Fatalf("step %d: %q, want %q", step, got, want)
		}
		if got, want := d.pages("sort=name&sort_reverse=true"), slices.Sorted(maps.Keys(there)); !slices.Equal(got, reversed(want)) {
			t.Fatalf("step %d, backwards: %q, want %q", step, got, want)
		}
	}
}

func reversed(names []string) []string {
	slices.Reverse(names)
	return names
}

// crowd declares idle queues.
func (d *door) crowd(from, to int) {
	d.t.Helper()
	for first := from; first < to; first += 500 {
		var commands []vhost.Command
		for i := first; i < min(first+500, to); i++ {
			commands = append(commands, vhost.Command{Kind: vhost.DeclareQueue, Definition: &vhost.Definition{
				Name: fmt.Sprintf("orders.customer-%06d", i), Durable: true,
			}})
		}
		if _, err := d.engine.Do(d.t.Context(), "/", authz.Broker(), commands...); err != nil {
			d.t.Fatal(err)
		}
	}
}

func TestMemoryOfIdleQueues(t *testing.T) {
	// If this fails, an idle queue takes more than 3 KiB of resident memory. The heap of a broker grows by 60 % between
	// two collections: what is live of a queue, statistics and its place in lists included, may take 1,900 bytes.
	const queues, bytesMax = 20_000, 1900
	d := open(t)
	before := int64(liveheap.Bytes())
	d.crowd(0, queues)
	for i := range 3 {
		d.server.sampler.Read(time.Unix(1_700_000_000+int64(5*i), 0))
	}
	if p := read[api.Page[api.Queue]](d, "/api/queues?page=1"); p.TotalCount != queues {
		t.Fatalf("%d queues", p.TotalCount)
	}
	if n := (int64(liveheap.Bytes()) - before) / queues; n > bytesMax {
		t.Errorf("%d bytes a queue, want %d at most", n, bytesMax)
	}
}

func TestPagesAllocateNothingPerQueue(t *testing.T) {
	// If this fails, a page of queues costs more the more queues there are. Where samples of all are looked at, each
	// portion of them may allocate.
	d := openWith(t, engine.NewTestClock(time.Unix(1_700_000_000, 0)))
	queries := []string{
		"", "&sort=name&sort_reverse=true", "&sort=messages&sort_reverse=true", "&name=customer",
		"&sort=message_stats.publish_details.rate&sort_reverse=true",
	}
	allocations := func(query string) float64 {
		return testing.AllocsPerRun(5, func() { d.want(http.StatusOK, "GET", "/api/queues?page=1&page_size=10"+query, "") })
	}
	few := map[string]float64{}
	d.crowd(0, 1000)
	for _, query := range queries {
		few[query] = allocations(query)
	}
	d.crowd(1000, 10_000)
	for _, query := range queries {
		if n := allocations(query); n > few[query]+100 {
			t.Errorf("%q: %.0f allocations with 10,000 queues, %.0f with 1,000", query, n, few[query])
		}
	}
}
