package repair_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/journal"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/repair"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vfs"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// Logs of the virtual hosts.
const (
	rootLog  = storage.LogID(16)
	otherLog = storage.LogID(17)
)

// batchOf returns where the data of a batch begins.
func batchOf(t *testing.T, dir string, log storage.LogID, index storage.Index) (name string, off int64) {
	t.Helper()
	j, _, err := journal.Look(vfs.Dir(dir), journal.Options{})
	must(t, err)
	data, _, err := j.ReadHoles(log, index)
	must(t, err)
	must(t, j.Close())
	return find(t, dir, data[:min(len(data), 500)])
}

// pageOf returns where the first page of a queue of virtual host "/" begins.
func pageOf(t *testing.T, dir, queueName string) (name string, off int64) {
	t.Helper()
	j, _, err := journal.Look(vfs.Dir(dir), journal.Options{})
	must(t, err)
	defer j.Close()
	_, state, err := j.LoadCheckpoint(rootLog)
	must(t, err)
	facts, err := fact.All(rootLog, 0, state)
	must(t, err)
	var id fact.QueueID
	for _, f := range facts {
		switch {
		case f.Kind == fact.QueueDeclared && f.Object.Name == queueName:
			id = f.Queue
		case f.Kind == fact.Paged && f.Queue == id && f.Seq == 0:
			c, err := queue.ParseChunk(f.Bytes, rootLog)
			must(t, err)
			page, err := j.Read(nil, c.Page)
			must(t, err)
			for _, at := range findAll(t, dir, page[:min(len(page), 100)]) { // the other virtual host may have one like it
				spoil(t, dir, at.file, at.offset+10)
				_, err := j.Read(nil, c.Page)
				spoil(t, dir, at.file, at.offset+10) // back
				if err != nil {
					return at.file, at.offset
				}
			}
		}
	}
	t.Fatalf("queue %s has no page", queueName)
	return "", 0
}

// checkpointOf returns the file of a log's checkpoint.
func checkpointOf(t *testing.T, dir string, log storage.LogID) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "journal", "*.checkpoint"))
	must(t, err)
	for _, f := range files {
		p, err := os.ReadFile(f)
		must(t, err)
		if n := len(p); n > 32 && p[n-28] == byte(log) { // its label
			return "journal/" + filepath.Base(f)
		}
	}
	t.Fatalf("log %d has no checkpoint", log)
	return ""
}

// What a virtual host is like before a repair.
const (
	starts  = "starts"
	down    = "down"
	refused = "the broker does not start"
	shaky   = "starts, perhaps, and stops when the page is wanted"
	crawled = "starts, and stops as soon as the dead-letter index reads it"
)

// harm is something that is done to a data directory, and what becomes of it.
type harm struct {
	what       string
	killed     bool
	spoil      func(t *testing.T, dir string) (file string, off int64)
	root       string // virtual host "/" before the repair
	lost       int    // messages of "/" that clients can get, at most; exactly, if it is not negative: then -lost at the most
	other      bool   // the other virtual host loses something, too
	deadLetter bool   // a dead letter is lost or changed that clients cannot get
	words      string // what the report says of it
	plain      []string
}

func first(name string) func(t *testing.T, dir string) (string, int64) {
	return func(t *testing.T, dir string) (string, int64) {
		file, off := find(t, dir, []byte(name))
		spoil(t, dir, file, off+3)
		return file, off + 3
	}
}

var harms = []harm{
	{"a record of a killed broker's log", true, func(t *testing.T, dir string) (string, int64) {
		return first(label("/", "work", 100))(t, dir)
	}, down, -30, false, false, "does not start", nil},
	{"the middle of a large record of a killed broker's log", true, func(t *testing.T, dir string) (string, int64) {
		file, off := find(t, dir, []byte(label("/", "large", 2)))
		spoil(t, dir, file, off+5000)
		return file, off + 5000
	}, down, 1, false, false, `message 2 of queue "large", number 3 in line, 10000 bytes, published to exchange "" with key "large"`, nil},
	{"the header of a batch, of which the table knows", true, func(t *testing.T, dir string) (string, int64) {
		file, off := batchOf(t, dir, rootLog, 20)
		spoil(t, dir, file, off-10)
		return file, off - 10
	}, down, 0, false, false, "checksum mismatch in the header of a batch", nil},
	{"a segment cut short", true, func(t *testing.T, dir string) (string, int64) {
		file, _ := find(t, dir, []byte(label("/", "work", 300)))
		must(t, os.Truncate(filepath.Join(dir, file), 30_000))
		return file, 30_000
	}, refused, -300, false, false, "the file is truncated: 30000 of 65536 bytes exist", nil},
	{"a missing segment", true, func(t *testing.T, dir string) (string, int64) {
		file, _ := find(t, dir, []byte(label("/", "work", 300)))
		must(t, os.Remove(filepath.Join(dir, file)))
		return file, 0
	}, refused, -300, false, false, "the file is missing", nil},
	{"two segments that changed places", true, func(t *testing.T, dir string) (string, int64) {
		changePlaces(t, dir, segmentWith(t, dir, 100), segmentWith(t, dir, 400))
		return "journal/manifest", 0
	}, refused, 0, false, false, "files were renamed", nil},
	{"two segments that changed places in a stopped broker's log", false, func(t *testing.T, dir string) (string, int64) {
		files := segments(t, dir)
		changePlaces(t, dir, files[0], files[len(files)-1])
		return "journal/manifest", 0
	}, refused, 0, false, false, "files were renamed", nil},
	{"three segments, each under the next one's name", true, func(t *testing.T, dir string) (string, int64) {
		a, b, c := segmentWith(t, dir, 100), segmentWith(t, dir, 300), segmentWith(t, dir, 500)
		changePlaces(t, dir, a, b)
		changePlaces(t, dir, b, c)
		return "journal/manifest", 0
	}, refused, 0, false, false, "files were renamed", nil},
	{"a segment under another name", true, func(t *testing.T, dir string) (string, int64) {
		must(t, os.Rename(filepath.Join(dir, segmentWith(t, dir, 300)), filepath.Join(dir, "journal/00009999.segment")))
		return "journal/manifest", 0
	}, refused, 0, false, false, "is in 00009999.segment", nil},
	{"the manifest", true, func(t *testing.T, dir string) (string, int64) {
		spoil(t, dir, "journal/manifest", 30)
		return "journal/manifest", 30
	}, refused, 0, false, false, "the other files of the journal contain the same information", nil},
	{"no manifest", false, func(t *testing.T, dir string) (string, int64) {
		must(t, os.Remove(filepath.Join(dir, "journal/manifest")))
		return "journal/manifest", 0
	}, refused, 0, false, false, "the manifest is missing", nil},
	{"the manifest and a record", false, func(t *testing.T, dir string) (string, int64) {
		spoil(t, dir, "journal/manifest", 1)
		file, off := find(t, dir, []byte(label("/", "large", 2)))
		spoil(t, dir, file, off+5000)
		return file, off + 5000
	}, refused, 1, false, false, `message 2 of queue "large"`, nil},
	{"a live record", false, func(t *testing.T, dir string) (string, int64) {
		file, off := find(t, dir, []byte(label("/", "large", 0)))
		spoil(t, dir, file, off+5000)
		return file, off + 5000
	}, starts, 1, false, false, `virtual host "/" has lost message 0 of queue "large"`, nil},
	{"records of a few messages", false, func(t *testing.T, dir string) (string, int64) {
		return first(label("/", "work", 222))(t, dir)
	}, starts, -8, false, false, `of queue "work", number 2`, nil},
	{"a page", false, func(t *testing.T, dir string) (string, int64) {
		file, off := pageOf(t, dir, "work")
		spoil(t, dir, file, off+10)
		return file, off + 10
	}, shaky, 0, false, false, "were found again in the log", nil},
	{"a checkpoint", false, func(t *testing.T, dir string) (string, int64) {
		file := checkpointOf(t, dir, rootLog)
		spoil(t, dir, file, 200)
		return file, 0
	}, down, 0, false, false, `virtual host "/" does not start`, nil},
	{"no checkpoint", false, func(t *testing.T, dir string) (string, int64) {
		file := checkpointOf(t, dir, rootLog)
		must(t, os.Remove(filepath.Join(dir, file)))
		return file, 0
	}, down, 0, false, false, "the file is missing", nil},
	{"a missing segment below the checkpoint", false, func(t *testing.T, dir string) (string, int64) {
		file, _ := find(t, dir, []byte(label("/", "work", 300)))
		must(t, os.Remove(filepath.Join(dir, file)))
		return file, 0
	}, refused, -300, false, false, "and ", nil},
	{"the end of a checkpoint, and a segment before it", false, func(t *testing.T, dir string) (string, int64) {
		file, _ := find(t, dir, []byte(label("/", "work", 300)))
		must(t, os.Remove(filepath.Join(dir, file)))
		state := checkpointOf(t, dir, rootLog)
		info, err := os.Stat(filepath.Join(dir, state))
		must(t, err)
		spoil(t, dir, state, info.Size()-40)
		return file, 0
	}, refused, -300, false, true, "its readable part was used", nil},
	{"the header of a segment", false, func(t *testing.T, dir string) (string, int64) {
		spoil(t, dir, "journal/00000003.segment", 20)
		return "journal/00000003.segment", 20
	}, starts, 0, false, false, "it is read only if the manifest is lost too", nil},
	{"the header of a group", false, func(t *testing.T, dir string) (string, int64) {
		spoil(t, dir, "journal/00000003.segment", 4096+20)
		return "journal/00000003.segment", 4096 + 20
	}, starts, 0, false, false, "no needed data is lost", nil},
	{"how a dead letter died", false, func(t *testing.T, dir string) (string, int64) {
		return first("\x00\x01\x04dead")(t, dir)
	}, crawled, 0, false, true, `the death history of message 0 of queue "dead"`, []string{label("/", "doomed", 0)}},
}

// segments lists the files of segments.
func segments(t *testing.T, dir string) (names []string) {
	t.Helper()
	j, _, err := journal.Look(vfs.Dir(dir), journal.Options{Dir: "journal"})
	must(t, err)
	for _, s := range j.Segments() {
		names = append(names, "journal/"+s.File)
	}
	must(t, j.Close())
	return names
}

// segmentWith is the file with a message of queue work.
func segmentWith(t *testing.T, dir string, message int) string {
	t.Helper()
	file, _ := find(t, dir, []byte(label("/", "work", message)))
	return file
}

// changePlaces gives two files one another's names.
func changePlaces(t *testing.T, dir, a, b string) {
	t.Helper()
	if a == b {
		t.Fatalf("%s is both", a)
	}
	a, b = filepath.Join(dir, a), filepath.Join(dir, b)
	must(t, os.Rename(a, a+".aside"))
	must(t, os.Rename(b, a))
	must(t, os.Rename(a+".aside", b))
}

func TestAStartSaysWhatIsMissing(t *testing.T) {
	// If this fails, an operator whose disk has lost a file reads "file does not exist", and no word of check and
	// repair.
	t.Parallel()
	for what, file := range map[string]func(t *testing.T, dir string) string{
		"the manifest": func(*testing.T, string) string { return "journal/manifest" },
		"the users' checkpoint": func(t *testing.T, dir string) string {
			return checkpointOf(t, dir, storage.LogID(accounts.OwnLogID))
		},
		"a segment":                func(t *testing.T, dir string) string { return segments(t, dir)[0] },
		"the newest segment":       func(t *testing.T, dir string) string { files := segments(t, dir); return files[len(files)-1] },
		"a vhost's own checkpoint": func(t *testing.T, dir string) string { return checkpointOf(t, dir, rootLog) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := image(t, false)
			name := file(t, dir)
			must(t, os.Remove(filepath.Join(dir, name)))
			b, err := try(dir)
			if err == nil { // it serves the other virtual hosts; clients of this one are told
				defer b.Close(t.Context())
				_, _, err = dial(b, "/")
			}
			if err == nil {
				t.Fatal("nothing is missing")
			}
			for _, word := range []string{filepath.Base(name), "missing", "bartleby check ", "bartleby repair "} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v does not say %q", err, word)
				}
			}
		})
	}
}

func TestDamageIsNamedAndRepaired(t *testing.T) {
	t.Parallel()
	// An operator would not know what his broker has lost, lose more than the disk did, or be left with a broker that
	// stops.
	for _, c := range harms {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			dir := image(t, c.killed)
			file, off := c.spoil(t, dir)
			r, err := bartleby.Check(dir)
			must(t, err)
			var text strings.Builder
			must(t, r.Print(&text, dir))
			defer func() {
				if t.Failed() {
					t.Log(text.String())
				}
			}()
			if r.State != bartleby.Damaged || !slices.ContainsFunc(r.Damage, func(d repair.Damage) bool {
				return d.File == file && d.Offset <= off && off <= d.Offset+d.Bytes
			}) {
				t.Errorf("%s, offset %d is not named", file, off)
			}
			if !strings.Contains(text.String(), c.words) {
				t.Errorf("the report does not say %q", c.words)
			}
			seen := lookBefore(t, duplicate(t, dir))
			switch {
			case c.root == shaky:
				seen = shaky
			case c.root == crawled && (seen == starts || seen == down):
				c.root, seen = starts, starts
			}
			if seen != c.root || r.VHosts[0].Starts != (seen == starts) || r.Starts == (seen == refused) {
				t.Errorf("virtual host / before the repair: %s, want %s; the report says that it starts: %t", seen, c.root, r.VHosts[0].Starts)
			}
			repairAndCompare(t, dir, &c)
		})
	}
}

// lookBefore says what a broker makes of the damage.
func lookBefore(t *testing.T, dir string) string {
	t.Helper()
	b, err := try(dir)
	if err != nil {
		return refused
	}
	defer b.Close(t.Context())
	if _, closeIt, err := dial(b, "/"); err != nil {
		return down
	} else {
		closeIt()
	}
	return starts
}

func repairAndCompare(t *testing.T, dir string, c *harm) {
	t.Helper()
	r, err := bartleby.Repair(dir)
	must(t, err)
	if r.State != bartleby.Repaired || r.Losses() > 0 || len(r.Damage) > 0 {
		t.Fatalf("after the repair: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, r.Aside, "README")); err != nil {
		t.Error(err)
	}
	again, err := bartleby.Repair(dir)
	if err != nil || again.State != bartleby.Sound {
		t.Fatalf("a second repair: %+v, %v", again, err)
	}
	b := start(t, dir)
	for i, vhost := range []string{"/", otherVHost} {
		before, after := &r.Before.VHosts[i], &r.VHosts[i]
		if vhost == otherVHost && !c.other {
			if before.Checkpoint != after.Checkpoint || before.LastBatch != after.LastBatch {
				t.Errorf("virtual host %s was changed: %+v, before %+v", vhost, after, before)
			}
			before.Lost = nil
		}
		n := compare(t, vhost, drain(t, b, vhost, c.plain...), before.Lost)
		if vhost != "/" {
			continue
		}
		if c.lost >= 0 && n != c.lost || c.lost < 0 && (n == 0 || n > -c.lost) {
			t.Errorf("%d messages are lost, want %d: %+v", n, c.lost, before.Lost)
		}
		if !c.deadLetter && c.lost >= 0 && (after.Held != heldCount || after.LostLetters != lostCount) {
			t.Errorf("%d held dead letters, %d lost letters", after.Held, after.LostLetters)
		}
	}
	must(t, b.Close(t.Context()))
	end, err := bartleby.Check(dir)
	if err != nil || end.State != bartleby.Sound {
		t.Fatalf("after a life: %+v, %v", end, err)
	}
}
