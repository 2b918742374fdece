package memory

import "testing"

func TestUncleared(t *testing.T) {
	t.Parallel() // If it fails, a large body is cut, or two share memory.
	for _, n := range []int{1, 7, 64 << 10, 1<<20 + 3} {
		p, q := Uncleared(n), Uncleared(n)
		if len(p) != n || cap(p) != n {
			t.Fatalf("%d octets of %d, asked for %d", len(p), cap(p), n)
		}
		for i := range p {
			p[i], q[i] = 1, 2
		}
		for i := range p {
			if p[i] != 1 || q[i] != 2 {
				t.Fatalf("octet %d of %d is %d, and %d of the other", i, n, p[i], q[i])
			}
		}
	}
}
