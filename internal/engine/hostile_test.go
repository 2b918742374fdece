package engine

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// TestHostileHeaders says that a message with monstrous headers stops the broker, or is taken for what it is not: an
// x-death that the broker never wrote for its history, lists of keys that do not fit a record for short ones; or that
// what is refused leaves a trace.
func TestHostileHeaders(t *testing.T) {
	many := func(n int, v amqp.Value) amqp.Value {
		all := make([]amqp.Value, n)
		for i := range all {
			all[i] = v
		}
		return amqp.Array(all...)
	}
	forged := amqp.TableValue(amqp.Table{{Name: "queue", Value: amqp.String("work")}, {Name: "reason", Value: amqp.String("expired")}})
	nested := amqp.Void()
	for range 10_000 {
		nested = amqp.TableValue(amqp.Table{{Value: nested}})
	}
	for _, c := range []struct {
		name   string
		header string
		value  amqp.Value
		want   string // of the refusal; "" if it is a message like any other
	}{
		{"deaths that never were", "x-death", many(100_000, forged), ""},
		{"deaths that are none", "x-death", amqp.String("x"), ""},
		{"many copies", "CC", many(65_535, amqp.String("work")), ""},
		{"too many copies", "CC", many(70_000, amqp.String("work")), "PRECONDITION_FAILED - invalid message: 70000 keys in header CC, at most 65535 are allowed"},
		{"too many blind copies", "BCC", many(70_000, amqp.String("work")), "PRECONDITION_FAILED - invalid message: 70000 keys in header BCC, at most 65535 are allowed"},
		{"copies to a number", "CC", amqp.Int32(1), "PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,\"CC\",signedint}"},
		{"nested tables", "deep", nested, "SYNTAX_ERROR - field table: nested deeper than 32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := start(t, newDisk(), func(o *Options) { o.Journal.SegmentBytes = 64 << 20 })
				defer stop(t, e)
				u := attach(t, e, "")
				u.post(declare("work", dlxArgs("", "grave")...), declare("grave"), confirms())
				m := publish("work", "m")
				m.Properties = amqp.AppendProperties(nil, &amqp.Properties{
					Has: amqp.FlagHeaders | amqp.FlagDeliveryMode, DeliveryMode: amqp.Persistent,
					Headers: amqp.Table{{Name: c.header, Value: c.value}},
				})
				u.post(m)
				if c.want != "" {
					u.expect("closed " + c.want)
					if n := ready(t, e, "work"); n != 0 {
						t.Errorf("%d messages are there", n)
					}
					return
				}
				u.expect("confirm 1")
				u.post(vhost.Command{Kind: vhost.Get, Definition: &vhost.Definition{Name: "work"}}, vhost.Command{Kind: vhost.Nack, Multiple: true})
				u.expect("got m")
				u.session.Written(1 << 40)
				u.post(get("grave"))
				if got := strings.Join(u.take(), " "); got != "got m" {
					t.Errorf("the dead letter: %q", got)
				}
			})
		})
	}
}
