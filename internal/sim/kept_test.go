package sim

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

var keep = flag.String("keep", "", "keep a data directory as this version leaves it under testdata, by this name: once for each format")

func TestKeptDirectoriesStayReadable(t *testing.T) {
	t.Parallel()
	// A new version would refuse the data directory of an old one, or lose, double or change what is in it.
	if *keep != "" {
		leave(t, "testdata/"+*keep)
	}
	archives, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, a := range archives {
		name, isArchive := strings.CutSuffix(a.Name(), ".zip")
		if !isArchive {
			continue
		}
		found++
		want, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		disk := unpack(t, "testdata/"+a.Name())
		for _, when := range []string{"as it was left", "once it was opened"} {
			got, err := describe(disk)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, when, err)
			}
			if got != string(want) {
				t.Errorf("%s, %s: %s", name, when, difference(got, string(want)))
			}
		}
	}
	if found == 0 {
		t.Fatal("no directory was kept")
	}
}

// difference shows the first line in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nexpected\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, expected %d", len(g), len(w))
}

// leave lives a life until the power goes, and keeps what is on the disk then, with what it means.
func leave(t *testing.T, name string) {
	w := newWorld(Options{Seed: 255})
	for w.violation == nil && w.step < 700 {
		w.step++
		w.act()
	}
	w.heal()
	w.mend("never")
	w.keepAllHouse(func() bool { return w.violation == nil })
	for range 5 { // something behind the checkpoint
		w.work()
		w.settle()
	}
	w.disk.Crash()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	names, err := w.disk.List("journal")
	for _, n := range names {
		var f vfs.File
		var size int64
		var to io.Writer
		if err == nil {
			f, err = w.disk.Open("journal/" + n)
		}
		if err == nil {
			size, err = f.Size()
		}
		p := make([]byte, size)
		if err == nil {
			_, err = f.ReadAt(p, 0)
		}
		if err == nil {
			to, err = z.Create("journal/" + n)
		}
		if err == nil {
			_, err = to.Write(p)
		}
	}
	text, described := describe(w.disk)
	err = errors.Join(err, z.Close(), described, os.WriteFile(name+".zip", archive.Bytes(), 0o644), os.WriteFile(name+".txt", []byte(text), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// unpack makes a disk of an archive.
func unpack(t *testing.T, name string) *vfs.Mem {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	disk := vfs.NewMem(1)
	for _, entry := range z.File {
		var p []byte
		from, err := entry.Open()
		if err == nil {
			p, err = io.ReadAll(from)
		}
		if err == nil {
			err = disk.Mkdir(path.Dir(entry.Name))
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := disk.Create(entry.Name)
		if err == nil {
			_, err = f.WriteAt(p, 0)
		}
		if err = errors.Join(err, f.Sync(), disk.SyncDir(path.Dir(entry.Name))); err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// describe opens a data directory, and tells every durable fact about the vhost in it, and what each message says.
func describe(disk vfs.FS) (string, error) {
	j, r, err := journal.Open(disk, journal.Options{SegmentBytes: segmentBytes, ReserveBytes: -1})
	if err != nil {
		return "", err
	}
	if len(r.Faults) > 0 {
		return "", &r.Faults[0]
	}
	w := &world{journal: j}
	w.pages = pages{w: w}
	w.pages.reopen()
	v := vhost.New(vhostName, logID, w, &w.pages)
	if err := w.replay(v, j.Next(logID)-1); err != nil {
		return "", err
	}
	facts, err := fact.All(logID, 0, v.Projection())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range facts {
		if facts[i].Kind != fact.Matched { // follows from the others, and was not there at first
			w.describeFact(&b, &facts[i])
		}
	}
	return b.String(), j.Close()
}

func (w *world) describeFact(b *strings.Builder, f *fact.Fact) {
	fmt.Fprintf(b, "%d queue=%d seq=%d n=%d at=%d cause=%v", f.Kind, f.Queue, f.Seq, f.N, f.At, f.Cause)
	if f.Took != nil {
		fmt.Fprintf(b, " took=%v", f.Took)
	}
	if o := f.Object; o != nil {
		fmt.Fprintf(b, " %q type=%q durable=%t auto-delete=%t exclusive=%t internal=%t to-exchange=%t source=%q key=%q %v",
			o.Name, o.Type, o.Durable, o.AutoDelete, o.Exclusive, o.Internal, o.ToExchange, o.Source, o.RoutingKey, o.Arguments)
	}
	if p := f.Policy; p != nil {
		fmt.Fprintf(b, " %q operator=%t %q on %q priority=%d %v", p.Name, p.Operator, p.Pattern, p.ApplyTo, p.Priority, p.Definition)
	}
	if f.Books != nil {
		fmt.Fprintf(b, " made=%d acked=%d moved=%d ended=%d", f.Books.Made, f.Books.Ended[fact.Acked], f.Books.Ended[fact.Moved], f.Books.Total())
	}
	if f.Kind == fact.Cancellations {
		fmt.Fprintf(b, " recalled=%x", f.Bytes)
	}
	if f.Kind == fact.Enqueued {
		d := vhost.Delivered{Ref: f.Entry.Ref(logID), HistoryRef: f.History}
		d.Record = bytes.Clone(w.Record(d.Ref))
		if d.HistoryRef != (storage.Ref{}) {
			d.History = bytes.Clone(w.Record(d.HistoryRef))
		}
		view, err := d.View()
		fmt.Fprintf(b, " expires=%d letter=%t body=%d:%08x to %q %q deaths=%v %v", f.Entry.ExpireAt, f.Entry.Flags&queue.HasHistory != 0, len(view.Body),
			crc32.ChecksumIEEE(view.Body), view.Exchange, view.RoutingKey, deathsOf(view.Properties), err)
	}
	b.WriteByte('\n')
}
