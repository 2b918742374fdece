package vfs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func TestSpoiltFilesAreAsBeforeOnceMended(t *testing.T) {
	t.Parallel()
	// The simulation would look for damage that is not there, or blame the journal for what the disk did.
	for kind := HarmBit; kind < harmKinds; kind++ {
		for seed := range uint64(20) {
			m := NewMem(seed)
			was := written(t, m, "a", 3*BlockBytes+100)
			h := m.Spoil("a", kind, rand.New(rand.NewPCG(seed, 1)))
			if h == nil {
				continue // noise may be what was there, zeros too
			}
			now, err := content(m, "a")
			switch {
			case kind == HarmAbsent:
				if !errors.Is(err, ErrNotExist) {
					t.Fatalf("%v: %v", kind, err)
				}
			case err != nil || bytes.Equal(was, now):
				t.Fatalf("%v: nothing has changed, %v", kind, err)
			case kind != HarmCut && (!bytes.Equal(now[:h.Off], was[:h.Off]) || !bytes.Equal(now[h.Off+h.Len:], was[h.Off+h.Len:])):
				t.Fatalf("%v: more than %d bytes at %d have changed", kind, h.Len, h.Off)
			}
			m.Crash()
			if again, err := content(m, "a"); !bytes.Equal(again, now) || (err == nil) != (kind != HarmAbsent) {
				t.Fatalf("%v: after a crash the file is another, %v", kind, err)
			}
			h.Mend()
			m.Crash()
			if again, err := content(m, "a"); err != nil || !bytes.Equal(again, was) {
				t.Fatalf("%v: mended, the file is another, %v", kind, err)
			}
		}
	}
}

func TestWhatIsWrittenOverHarmStays(t *testing.T) {
	t.Parallel()
	// Mending would bring back old bytes in the middle of new ones.
	m := NewMem(1)
	written(t, m, "a", BlockBytes)
	h := m.Spoil("a", HarmZeros, rand.New(rand.NewPCG(1, 1)))
	f, err := m.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	news := bytes.Repeat([]byte{9}, BlockBytes)
	if _, err := f.WriteAt(news, 0); err != nil {
		t.Fatal(err)
	}
	h.Mend()
	if got, err := content(m, "a"); err != nil || !bytes.Equal(got, news) {
		t.Fatalf("what was written is not there: %v", err)
	}
}

// written makes a file of n bytes, synced.
func written(t *testing.T, m *Mem, name string, n int) []byte {
	t.Helper()
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i/256 + 1)
	}
	f, err := m.Create(name)
	if err == nil {
		_, err = f.WriteAt(p, 0)
	}
	if err = errors.Join(err, f.Sync(), m.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	return p
}

func content(m *Mem, name string) ([]byte, error) {
	f, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	n, err := f.Size()
	p := make([]byte, n)
	if err == nil {
		_, err = f.ReadAt(p, 0)
	}
	return p, err
}
