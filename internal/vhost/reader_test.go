package vhost

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

func TestOptionValues(t *testing.T) {
	// If this fails, an option is in force but not shown, or shown with another value than it has.
	t.Parallel()
	v := New("/", 1, nil, newPages())
	var names []string
	for _, o := range v.Reader().OptionValues() {
		names = append(names, o.Name)
	}
	if !slices.Equal(names, settings.OptionNames()) {
		t.Errorf("shown %v, known %v", names, settings.OptionNames())
	}
	for _, dialect := range []string{"rabbitmq-4", "rabbitmq-3", "apsaramq"} {
		v.configured(amqp.Table{{Name: "dialect", Value: amqp.String(dialect)}, {Name: "hops-max", Value: amqp.Int64(7)},
			{Name: "dead-letter-queues", Value: amqp.TableValue(amqp.Table{{Name: "q", Value: amqp.Bool(false)}})}})
		shown, want := settings.OptionsOf(v.Reader().OptionValues()), v.options
		if !reflect.DeepEqual(shown, want) {
			t.Errorf("%s: shown %+v, in force %+v", dialect, shown, want)
		}
	}
}

func TestLostIDs(t *testing.T) {
	// If this fails, a list of lost letters leaves some out, shows some twice, or holds up the vhost for all of them.
	t.Parallel()
	v := New("/", 1, nil, newPages())
	causes := []fact.Cause{fact.LostRoute, fact.LostCycle, fact.LostRoute, fact.LostRoute, fact.LostCycle}
	for _, c := range causes {
		v.lost.messages.Push(v.lost.messages.Next(0), queue.Entry{Priority: uint8(c)})
	}
	v.lost.messages.Remove(2)
	for _, c := range []struct {
		after, last uint64
		cause       fact.Cause
		most, scan  int
		ids         []uint64
		next        uint64
	}{
		{0, 9, 0, 9, 9, []uint64{1, 2, 4, 5}, 0},
		{0, 9, 0, 2, 9, []uint64{1, 2}, 3},
		{3, 9, 0, 2, 9, []uint64{4, 5}, 0},
		{1, 4, 0, 9, 9, []uint64{2, 4}, 0},
		{0, 9, fact.LostCycle, 9, 9, []uint64{2, 5}, 0},
		{0, 9, fact.LostCycle, 9, 1, nil, 1},
		{1, 9, fact.LostCycle, 9, 1, []uint64{2}, 3},
		{5, 9, 0, 9, 9, nil, 0},
		{^uint64(0), ^uint64(0), 0, 9, 9, nil, 0},
	} {
		ids, next := v.Reader().LostIDs(c.after, c.last, c.cause, c.most, c.scan)
		if !slices.Equal(ids, c.ids) || next != c.next {
			t.Errorf("%+v: %v, next %d", c, ids, next)
		}
	}
	if n := v.Reader().NewestLostLetter(); n != 5 {
		t.Errorf("newest %d", n)
	}
}

func TestReaderChangesNothing(t *testing.T) {
	// If this fails, a question about a virtual host changes it: what doors ask is no longer free of decisions.
	t.Parallel()
	for seed := range uint64(12) {
		sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
		w := &walk{dice: rand.New(rand.NewPCG(seed, 2)), world: sc.world}
		for range 15 {
			var lines []string
			for range 20 {
				lines = append(lines, w.line())
			}
			if err := sc.block(lines); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			before, machine := imageOf(sc.world.v), *sc.world.v
			asked := askAll(t, sc.world.v.Reader(), w.queue())
			if after := imageOf(sc.world.v); !bytes.Equal(before, after) {
				t.Fatalf("seed %d: one of %v has changed the machine\n%q\n%q", seed, asked, before, after)
			}
			if field := changed(&machine, sc.world.v); field != "" {
				t.Fatalf("seed %d: one of %v has changed the field %s", seed, asked, field)
			}
			if err := sc.world.v.Check(); err != nil {
				t.Fatalf("seed %d: after %v: %v", seed, asked, err)
			}
		}
	}
}

// imageOf is what the log holds of a machine, and what lists show of the rest.
func imageOf(v *VHost) []byte {
	r := v.Reader()
	due, _ := v.Due()
	return fmt.Appendf(v.Contents(), "\n%v %v %v %+v %+v %+v %+v", due, v.logged, r.Books(), r.Queues(), r.Channels(), r.Schedules(), r.Redrives())
}

// changed names a field in which two images of a machine differ: in a number, or in how much a map has. What the
// machine keeps only to be quick, and a step's own count of its work, may change.
func changed(a, b *VHost) string {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if slices.Contains([]string{"work", "readAt"}, x.Type().Field(i).Name) {
			continue
		}
		switch x.Field(i).Kind() {
		case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
			if !x.Field(i).Equal(y.Field(i)) {
				return x.Type().Field(i).Name
			}
		case reflect.Map:
			if x.Field(i).Len() != y.Field(i).Len() {
				return x.Type().Field(i).Name
			}
		}
	}
	return ""
}

// askAll calls every method of a Reader, with what its parameters may be, and lists them.
func askAll(t *testing.T, r Reader, queue string) (asked []string) {
	t.Helper()
	where := Where{Queue: queue}
	order := JobSpec{User: "guest", Source: where, Target: TargetQueue}
	edit := Command{Kind: Resend, Edit: &Edit{Source: where, ID: 1}, Properties: properties(2, nil), Body: []byte("edited")}
	special := []any{
		where, Glance{Where: where, Looks: 50}, &order, &edit, &RedriveDryRun{}, &Sampling{}, &Snapshotter{}, &Subjects{},
		NewCalendar(epoch, epoch+1000, 100, epoch),
		r.ListWaiting(queue, ScheduledMessage{}, epoch+1000, 50), ScheduledID{1, 0}, ScheduledMessage{}, ConsumerMark{}, []MessageID{1, 2}, epoch,
	}
	v := reflect.ValueOf(r)
	for i := range v.NumMethod() {
		m, name := v.Method(i), v.Type().Method(i).Name
		var in []reflect.Value
		for k := range m.Type().NumIn() {
			p := m.Type().In(k)
			at := slices.IndexFunc(special, func(x any) bool { return reflect.TypeOf(x) == p })
			x := reflect.New(p).Elem()
			switch {
			case at >= 0:
				x = reflect.ValueOf(special[at])
			case p.Kind() == reflect.String:
				x.SetString(queue)
			case p.Kind() == reflect.Func:
				x = reflect.MakeFunc(p, func([]reflect.Value) (out []reflect.Value) {
					if p.NumOut() > 0 {
						out = append(out, reflect.ValueOf(true))
					}
					return out
				})
			case x.CanInt():
				x.SetInt(50)
			case x.CanUint():
				x.SetUint(1)
			case p.Kind() != reflect.Bool:
				t.Fatalf("%s is asked with a %s, which this test does not know", name, p)
			}
			in = append(in, x)
		}
		m.Call(in)
		asked = append(asked, name)
	}
	return asked
}
