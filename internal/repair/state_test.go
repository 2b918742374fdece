package repair_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/repair"
)

// repaired repairs a directory, and fails if that does not make it sound.
func repaired(t *testing.T, dir string) *repair.Report {
	t.Helper()
	r, err := bartleby.Repair(dir)
	must(t, err)
	if r.State != bartleby.Repaired {
		t.Fatalf("%+v", r)
	}
	return r
}

// queued reads what is in a queue.
func queued(t *testing.T, b *bartleby.Broker, vhost, queue string) (all []amqp.Delivery) {
	t.Helper()
	ch, closeIt, err := dial(b, vhost)
	must(t, err)
	defer closeIt()
	for {
		d, ok, err := ch.Get(queue, true)
		must(t, err)
		if !ok {
			return all
		}
		all = append(all, d)
	}
}

func TestARejectionThatIsLostLeavesTheMessage(t *testing.T) {
	t.Parallel()
	// A dead letter would be gone from where it was without having come to where it went.
	dir := image(t, true)
	first("\x00\x01\x04dead")(t, dir)
	r := repaired(t, dir)
	lost := r.Before.VHosts[0].Lost
	if !slices.ContainsFunc(lost, func(l repair.Lost) bool {
		return l.Kind == "messages" && l.Queue == "dead" && l.Number == 0 && l.Count == 1
	}) {
		t.Errorf("lost: %+v", lost)
	}
	b := start(t, dir)
	dead, doomed := queued(t, b, "/", "dead"), queued(t, b, "/", "doomed")
	if len(dead) != deadCount-1 || len(doomed) != 1 || string(doomed[0].Body) != string(body("/", "doomed", 0)) {
		t.Fatalf("%d dead letters, %d that are to die", len(dead), len(doomed))
	}
	compare(t, otherVHost, drain(t, b, otherVHost), nil)
}

func TestDeadLettersWithoutAHistory(t *testing.T) {
	t.Parallel()
	// A held dead letter whose history is lost would stop its virtual host for ever, or take the message with
	// it.
	dir := image(t, false)
	first("\x06strict\x80\x80")(t, dir)
	first("\x08careless\x80\x80")(t, dir)
	r := repaired(t, dir)
	var said []string
	for _, l := range r.Before.VHosts[0].Lost {
		said = append(said, fmt.Sprint(l.Kind, " ", l.Queue, l.LostLetters, l.Number))
	}
	slices.Sort(said)
	if want := []string{"history strictfalse 0", "message true 0"}; !slices.Equal(said, want) {
		t.Fatalf("lost %q, want %q", said, want)
	}
	if h := r.VHosts[0]; h.Held != heldCount-1 || h.LostLetters != lostCount-1 {
		t.Fatalf("after the repair: %+v", h)
	}
	b := start(t, dir)
	ready := queued(t, b, "/", "strict")
	if len(ready) != 1 || string(ready[0].Body) != string(body("/", "strict", 0)) || ready[0].Headers["x-death"] != nil {
		t.Fatalf("ready in strict: %d", len(ready))
	}
	compare(t, "/", drain(t, b, "/"), nil)
}

func TestAVirtualHostWhoseNameIsLost(t *testing.T) {
	t.Parallel()
	// With the fact that made it, all of its messages would be thrown away at the next start.
	dir := image(t, true)
	first(otherVHost)(t, dir)
	if seen := lookBefore(t, duplicate(t, dir)); seen != refused {
		t.Errorf("before the repair: %s", seen)
	}
	r := repaired(t, dir)
	if r.Before.Starts || len(r.Before.Users.Lost) < 2 {
		t.Errorf("before: %+v", r.Before.Users)
	}
	b := start(t, dir)
	const name = "recovered-17"
	ask(t, b, "PUT", "/api/permissions/"+name+"/guest", `{"configure":".*","write":".*","read":".*"}`)
	got := drain(t, b, name)
	compare(t, otherVHost, got, nil)
	compare(t, "/", drain(t, b, "/"), nil)
}

func TestUsersWhoseCheckpointIsLost(t *testing.T) {
	t.Parallel()
	// Nobody could log in, although all that made the users is in the log.
	dir := image(t, false)
	spoil(t, dir, checkpointOf(t, dir, 1), 5)
	r := repaired(t, dir)
	if r.Before.Losses() > 0 || r.Before.Users.State != repair.Damaged || r.Users.Users != 1 || len(r.VHosts) != 2 {
		t.Errorf("%+v, before %+v", r.Users, r.Before.Users)
	}
	b := start(t, dir)
	for _, vhost := range []string{"/", otherVHost} {
		compare(t, vhost, drain(t, b, vhost), nil)
	}
}

func TestUsersThatAreLost(t *testing.T) {
	t.Parallel()
	// A broker without users would take its virtual hosts for deleted ones.
	dir := image(t, false)
	must(t, os.Remove(filepath.Join(dir, checkpointOf(t, dir, 1))))
	file, _ := batchOf(t, dir, 1, 1)
	must(t, os.Remove(filepath.Join(dir, file)))
	r := repaired(t, dir)
	if r.Users.Users != 0 || len(r.VHosts) != 2 || r.VHosts[0].Name != "recovered-16" || r.VHosts[1].Queues != 7 {
		t.Fatalf("%+v %+v", r.Users, r.VHosts)
	}
	b := start(t, dir)
	must(t, b.Close(t.Context()))
	end, err := bartleby.Check(dir)
	if err != nil || end.State != bartleby.Sound || len(end.VHosts) != 2 || end.VHosts[1].Messages != r.VHosts[1].Messages {
		t.Fatalf("after a life: %+v, %v", end, err)
	}
}

func TestPagesThatAreOlderThanTheLog(t *testing.T) {
	t.Parallel()
	// Messages that have ended since a checkpoint would be back, or those that came since be lost with the others of a
	// page.
	dir := image(t, false)
	b := start(t, dir)
	ch, closeIt, err := dial(b, "/")
	must(t, err)
	must(t, ch.Confirm(false))
	for n := range 10 {
		d, ok, err := ch.Get("work", false)
		if err != nil || !ok || string(d.Body) != string(body("/", "work", n)) {
			t.Fatalf("get: %t, %v", ok, err)
		}
		must(t, d.Ack(false))
	}
	c, err := ch.PublishWithDeferredConfirm("", "work", true, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("late")})
	must(t, err)
	c.Wait()
	closeIt()
	killed := duplicate(t, dir)
	must(t, b.Close(t.Context()))
	name, off := pageOf(t, killed, "work")
	spoil(t, killed, name, off+10)
	r := repaired(t, killed)
	page := slices.IndexFunc(r.Before.VHosts[0].Lost, func(l repair.Lost) bool { return l.Kind == "page" && l.Queue == "work" && l.Number == 0 })
	if page < 0 || r.Before.VHosts[0].Lost[page].Count != 0 || r.Before.VHosts[0].Lost[page].Found != 246 {
		t.Fatalf("lost: %+v", r.Before.VHosts[0].Lost)
	}
	work := queued(t, start(t, killed), "/", "work")
	if len(work) != workCount+1-10+1 || !strings.HasPrefix(string(work[0].Body), label("/", "work", 10)) || string(work[len(work)-1].Body) != "late" {
		t.Fatalf("%d messages, the first is %.20q", len(work), work[0].Body)
	}
}

func TestADeletedVirtualHostStaysDeleted(t *testing.T) {
	t.Parallel()
	// A repair without a manifest would bring back what somebody has deleted, or stumble over it.
	dir := image(t, false)
	b := start(t, dir)
	ask(t, b, "DELETE", "/api/vhosts/"+otherVHost, "")
	must(t, b.Close(t.Context()))
	must(t, os.Remove(filepath.Join(dir, "journal/manifest")))
	r := repaired(t, dir)
	if len(r.VHosts) != 1 || r.Losses()+r.Before.Losses() > 0 {
		t.Fatalf("%+v", r.VHosts)
	}
	compare(t, "/", drain(t, start(t, dir), "/"), nil)
}

func TestMessagesOfAQueueWhoseDeclarationIsLost(t *testing.T) {
	t.Parallel()
	// All messages of a queue would be lost with the few bytes that declared it.
	dir := image(t, true)
	first("\x04work\x07classic")(t, dir)
	r := repaired(t, dir)
	lost := r.Before.VHosts[0].Lost
	i := slices.IndexFunc(lost, func(l repair.Lost) bool { return l.Kind == "queue" && strings.HasPrefix(l.Queue, "recovered-") })
	if i < 0 || slices.ContainsFunc(lost, func(l repair.Lost) bool { return l.Count > 0 }) {
		t.Fatalf("lost: %+v", lost)
	}
	b := start(t, dir)
	work := queued(t, b, "/", lost[i].Queue)
	if len(work) != workCount+1 {
		t.Fatalf("%d messages of %d", len(work), workCount+1)
	}
	for n, d := range work {
		if string(d.Body) != string(body("/", "work", n)) {
			t.Fatalf("message %d is %.20q", n, d.Body)
		}
	}
}
