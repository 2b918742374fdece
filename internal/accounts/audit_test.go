package accounts

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func record(user string) Command {
	return Command{Kind: RecordDeed, Deed: Deed{At: 7, User: user, Action: "PUT", Object: "/api/x", Status: 201, Detail: []byte("{}")}}
}

func TestAuditLogKeepsTheNewest(t *testing.T) {
	// If this fails, the audit log grows for ever, loses its newest records, or a restart changes it.
	t.Parallel()
	m := booted(t)
	version := m.View().Version()
	for range deedsMax + 5 {
		step(t, m, record("ann"))
	}
	v := m.View()
	deeds := v.Deeds()
	kept := deedsMax/16*15 + 4
	if len(deeds) != kept || deeds[0].ID != uint64(deedsMax+5-kept+1) || deeds[kept-1].ID != deedsMax+5 {
		t.Errorf("%d deeds from %d to %d", len(deeds), deeds[0].ID, deeds[len(deeds)-1].ID)
	}
	if v.Version() != version {
		t.Error("a record of the audit log takes every cached permission away")
	}
	again := replay(t, m.Snapshot(nil))
	step(t, again, record("bob"))
	step(t, m, record("bob"))
	if !bytes.Equal(again.Snapshot(nil), m.Snapshot(nil)) {
		t.Error("after a restart the audit log goes on differently")
	}
	if v.Deeds()[0].ID != deeds[0].ID || len(v.Deeds()) != kept {
		t.Error("a view changed")
	}
	big := record("ann")
	big.Deed.Detail = bytes.Repeat([]byte(" "), DeedBytesMax-64)
	for range 2 * deedsBytesMax / DeedBytesMax {
		step(t, m, big)
	}
	if n := m.now.audit.bytes; n > deedsBytesMax || n < deedsBytesMax/2 {
		t.Errorf("the audit log has %d bytes", n)
	}
}

func TestAuditLogIsShared(t *testing.T) {
	// If this fails, somebody who may declare queues pushes out of the audit log what administrators did.
	t.Parallel()
	m := booted(t)
	for range 100 {
		step(t, m, record("ann"))
		step(t, m, record("bob"))
	}
	flood := record("eve")
	flood.Deed.Detail = bytes.Repeat([]byte(" "), DeedBytesMax/2)
	for range 3 * deedsBytesMax / DeedBytesMax * 2 {
		step(t, m, flood)
	}
	for range 2 * deedsMax {
		step(t, m, record("eve"))
	}
	of := map[string]int{}
	for _, d := range m.View().Deeds() {
		of[d.User]++
	}
	if of["ann"] != 100 || of["bob"] != 100 || of["eve"] < deedsMax*9/10-200 {
		t.Errorf("deeds of each: %v", of)
	}
	again := replay(t, m.Snapshot(nil))
	for range deedsMax {
		step(t, again, record("bob"))
		step(t, m, record("bob"))
	}
	if !bytes.Equal(again.Snapshot(nil), m.Snapshot(nil)) {
		t.Error("after a restart other records fall away")
	}
}

func TestNamesOfTheBrokerAreNobodys(t *testing.T) {
	// If this fails, a user does things in the name of the broker or of whoever has its secret.
	t.Parallel()
	m := booted(t)
	for _, name := range []string{LocalAdministrator, LocalBroker} {
		if err := m.Step(Command{Kind: PutUser, User: name, Password: "p"}, &Outcome{}); err == nil {
			t.Errorf("there can be a user %s", name)
		}
	}
}

func TestDeedsThatAreRefused(t *testing.T) {
	// If this fails, a record that cannot be shown as JSON, or that fills the log, is kept.
	t.Parallel()
	m := booted(t)
	for what, d := range map[string]Deed{
		"must be UTF-8":       {Object: "\xff"},
		"exceeds the maximum": {Object: strings.Repeat("x", DeedBytesMax+1)},
	} {
		var out Outcome
		if err := m.Step(Command{Kind: RecordDeed, Deed: d}, &out); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	var out Outcome
	if err := m.Step(Command{Kind: BeginImport, Name: "x", Value: make([]byte, importBytesMax+1)}, &out); err == nil {
		t.Error("an import of any size is remembered")
	}
	if err := m.Step(Command{Kind: BeginImport}, &out); err == nil {
		t.Error("an import without a source is remembered")
	}
}

func TestImportUnderWay(t *testing.T) {
	// If this fails, a restart does not know that an import was under way, or goes on with one that has ended.
	t.Parallel()
	m := booted(t, Command{Kind: BeginImport, Name: "a", Value: []byte("1")}, Command{Kind: BeginImport, Name: "b", Value: []byte("2")})
	if i := replay(t, m.Snapshot(nil)).View().Import(); i == nil || i.Source != "b" || string(i.Value) != "2" {
		t.Errorf("under way is %+v", i)
	}
	step(t, m, Command{Kind: EndImport})
	if i := replay(t, m.Snapshot(nil)).View().Import(); i != nil {
		t.Errorf("%+v is under way", i)
	}
	if out := step(t, m, Command{Kind: EndImport}); len(out.Facts) > 0 {
		t.Error("an end without a beginning changes something")
	}
}

func TestDraft(t *testing.T) {
	// If this fails, a rehearsal changes the state that it begins with.
	t.Parallel()
	m := booted(t, record("ann"))
	v := m.View()
	before := m.Snapshot(nil)
	draft := v.Draft()
	step(t, draft, Command{Kind: PutUser, User: "u", Password: "p"})
	step(t, draft, Command{Kind: DeleteUser, User: "guest"})
	step(t, draft, record("bob"))
	if !bytes.Equal(m.Snapshot(nil), before) || len(v.Users()) != 1 {
		t.Error("a draft changed the machine")
	}
	step(t, m, record("bob"))
	if got := m.View().Deeds(); len(got) != 2 || !slices.Equal([]string{got[0].User, got[1].User}, []string{"ann", "bob"}) {
		t.Errorf("deeds are %+v", got)
	}
}
