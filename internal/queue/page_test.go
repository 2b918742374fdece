package queue

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/storage"
)

// goldenChunk has everything that a page can say.
func goldenChunk() *chunk {
	c := &chunk{off: 3, entries: []Entry{
		{Index: 7, Offset: 12, Size: 60, BodyBytes: 16, Flags: Persistent, State: Ready},
		{Index: 7, Offset: 84, Size: 60, BodyBytes: 16, Flags: Persistent, State: Ready},
		{Index: 7, Offset: 156, Size: 60, BodyBytes: 16, Flags: Persistent, State: Ready},
		{},
		{Index: 9, Offset: 5, Size: 61, BodyBytes: 17, Flags: Persistent | Moved | HasHistory, State: Held, Priority: 3},
		{Index: 8, Offset: 300, Size: 61, BodyBytes: 17, Flags: Persistent | Redelivered, State: Waiting, ExpireAt: 1_000_000_005_000},
		{Index: 8, Offset: 400, Size: 61, BodyBytes: 17, Flags: Persistent | Redelivered, State: Unacked, ExpireAt: 1_000_000_004_000},
	}}
	c.setSide(4, Side{History: storage.Ref{Log: testLog, Index: 9, Offset: 80, Size: 44}})
	c.setSide(5, Side{Acquired: 3, Failed: 2, Until: 1_000_000_001_000})
	c.setSide(6, Side{Arrived: 1_000_000_003_000})
	return c
}

// TestPageIsGolden says that pages are written as no reader of docs/format expects them.
func TestPageIsGolden(t *testing.T) {
	t.Parallel()
	const want = "0106" +
		"3b" + "03" + "0e0c" + "3c" + "10" + "010100" + // passed over 3; batch +7, offset 12; size; body; kind
		"04" + "18" + // gap 12
		"00" +
		"bb" + "01" + "0405" + "3d" + "11" + "290403" + "01" + "09502c" +
		"e2" + "01ac02" + "050300" + "908ea9ca9a3a" + "1c" + "0302" + "e8a794a58d1d" +
		"e4" + "4e" + "050200" + "cf0f" + "20" + "b8b794a58d1d"
	got := hex.EncodeToString(appendPage(nil, goldenChunk(), 0))
	if got != want {
		t.Errorf("a page is\n%s, not\n%s", got, want)
	}
	var c chunk
	page, _ := hex.DecodeString(want)
	if err := readPage(&c, page, nil, testLog); err != nil {
		t.Fatal(err)
	}
	g := goldenChunk()
	g.growSides()
	if c.off != g.off || !slices.Equal(c.entries, g.entries) || !slices.Equal(c.sides, g.sides) {
		t.Errorf("read back as %+v", c)
	}
}

// TestPageIsSmall says that a cold message takes more than the goals count with.
func TestPageIsSmall(t *testing.T) {
	t.Parallel()
	var c chunk
	for i := range uint32(chunkLen) {
		c.entries = append(c.entries, Entry{Index: 1 + storage.Index(i/100), Offset: i * 150, Size: 140, BodyBytes: 128, Flags: Persistent, State: Ready})
	}
	if n := len(appendPage(nil, &c, 0)); n > 2*chunkLen {
		t.Errorf("%d messages that are alike take %d octets", chunkLen, n)
	}
}

// FuzzPage finds pages that break their reader, or that do not come back as they were.
func FuzzPage(f *testing.F) {
	f.Add(appendPage(nil, goldenChunk(), 0))
	f.Add([]byte{pageFormat, 1, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, page []byte) {
		var c, again chunk
		if readPage(&c, page, nil, testLog) != nil {
			return
		}
		if err := readPage(&again, appendPage(nil, &c, 0), nil, testLog); err != nil {
			t.Fatal(err)
		}
		if c.off != again.off || !slices.Equal(c.entries, again.entries) {
			t.Fatalf("%+v comes back as %+v", c, again)
		}
	})
}

// FuzzSlot finds saved chunks that break the queue that restores them.
func FuzzSlot(f *testing.F) {
	q := newQueue(1)
	for range 300 {
		push(q, 0, Entry{Flags: Persistent, Index: 4})
	}
	s := q.pool.BeginCheckpoint(func(*Messages) {}, func(_ *Messages, first Seq, b []byte) {
		f.Add(uint64(first), slices.Clone(b))
	})
	s.Queue(q)
	for s.Some(1) {
	}
	f.Fuzz(func(t *testing.T, first uint64, saved []byte) {
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(storage.Fault); !ok {
					panic(p)
				}
			}
		}()
		to := newQueue(1)
		to.pool.pages = q.pool.pages
		if _, err := to.Restore(Seq(first), saved); err == nil {
			to.Skip(Seq(first) + chunkLen)
			to.Head()
		}
	})
}

func BenchmarkPage(b *testing.B) {
	var c chunk
	for i := range uint32(chunkLen) {
		c.entries = append(c.entries, Entry{Index: 1 + storage.Index(i/100), Offset: i * 150, Size: 140, BodyBytes: 128, Flags: Persistent, State: Ready})
	}
	page := appendPage(nil, &c, 0)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			page = appendPage(page[:0], &c, 0)
		}
	})
	b.Run("read", func(b *testing.B) {
		into := chunk{entries: make([]Entry, 0, chunkLen)}
		for b.Loop() {
			into.entries = into.entries[:0]
			if err := readPage(&into, page, nil, testLog); err != nil {
				b.Fatal(err)
			}
		}
	})
}
