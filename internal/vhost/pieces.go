package vhost

import "github.com/bartleby-mq/bartleby/internal/vhost/fact"

// pieces is a long list of facts as bytes, in slices of about pieceBytes. It grows without a copy of what it has: one
// slice would take more than twice its size while it grows.
type pieces struct {
	full [][]byte
	last []byte
}

const pieceBytes = 256 << 10

// add adds a fact.
func (p *pieces) add(f *fact.Fact) {
	if len(p.last) > pieceBytes*7/8 {
		p.full, p.last = append(p.full, p.last), nil
	}
	if p.last == nil {
		p.last = make([]byte, 0, pieceBytes)
	}
	p.last = fact.Append(p.last, f, 0)
}

// all lists the pieces, if there are any facts.
func (p *pieces) all() [][]byte {
	if len(p.last) == 0 {
		return p.full
	}
	return append(p.full, p.last)
}
