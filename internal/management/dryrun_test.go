package management

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/search"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// manyDead fills the queue dead with messages of the queue full: the last few have the type "late".
func manyDead(d *door, n, late int) {
	d.t.Helper()
	d.queueWith("full", `"x-max-length":0,"x-dead-letter-exchange":"","x-dead-letter-routing-key":"dead"`)
	d.queueWith("dead", "")
	var all []vhost.Command
	for i := range n {
		p := amqp.Properties{Has: amqp.FlagDeliveryMode | amqp.FlagType, DeliveryMode: amqp.Persistent, Type: "early"}
		if i >= n-late {
			p.Type = "late"
		}
		all = append(all, vhost.Command{Kind: vhost.Publish, Key: []byte("full"), Properties: amqp.AppendProperties(nil, &p), Body: []byte("x")})
	}
	if _, err := d.server.Engine.Do(d.t.Context(), "/", authz.Broker(), all...); err != nil {
		d.t.Fatal(err)
	}
	d.later(time.Second)
}

// index keeps one, and waits until it knows of so many messages.
func (d *door) index(messages int64) {
	d.t.Helper()
	x := search.Open(search.Options{Broker: d.server.Engine, Dir: d.t.TempDir(), Log: quiet()})
	d.t.Cleanup(func() {
		if err := x.Close(); err != nil {
			d.t.Error(err)
		}
	})
	*d = *d.with(func(o *Options) { o.Index = x })
	for ends := time.Now().Add(20 * time.Second); x.Stats().Messages != messages || x.Stats().Behind != 0; <-time.After(time.Millisecond) {
		if time.Now().After(ends) {
			d.t.Fatalf("%+v", x.Stats())
		}
	}
}

func TestTrialAsksTheIndex(t *testing.T) {
	// If this fails, a dry run says that nothing matches, or less than does, when the messages are at the end
	// of a long queue.
	t.Parallel()
	d := open(t)
	const n, late = 2500, 7 // more than are looked at before the index is asked
	manyDead(d, n, late)
	const what = `{"source":{"queue":"dead"},"filter":"type:late","dry_run":true%s}`
	try := func(more string) api.RedriveTrial {
		t.Helper()
		return decoded[api.RedriveTrial](d, d.want(http.StatusOK, "POST", redrives, fmt.Sprintf(what, more)).Body.Bytes())
	}
	if x := try(""); x.Looked != n || x.Matches != late || x.Partial || x.Index != nil || x.Found != nil {
		t.Errorf("without an index: %+v", x)
	}
	d.index(n)
	x := try("")
	if x.Looked != late || x.Matches != late || x.Partial || x.Index == nil || x.Found == nil || *x.Found != late || x.Refused["refused"]+x.Queues["full"] != late || len(x.Sample) != late {
		t.Errorf("by the index: %+v", x)
	}
	if x.Sample[0].ID != fmt.Sprint(n-late+1) {
		t.Errorf("the first of them is %s", x.Sample[0].ID)
	}
	if x := try(`,"options":{"order":"newest"},"max":3`); x.Matches != 3 || x.Partial || x.Sample[0].ID != fmt.Sprint(n) {
		t.Errorf("the newest three: %+v", x)
	}
	if x := try(`,"force":true,"target":{"to":"queue","queue":"dead"}`); x.Queues["dead"] != late {
		t.Errorf("into another queue: %+v", x)
	}
	d.want(http.StatusOK, "POST", "/api/exchanges/%2F/amq.default/publish", `{"routing_key":"dead","payload":"no dead letter","payload_encoding":"string","properties":{"type":"late"}}`)
	if x := try(""); x.Looked != n+1 || x.Matches != late+1 || x.Partial || x.Index != nil {
		t.Errorf("with a message that never died, of which no index knows: %+v", x)
	}
}
