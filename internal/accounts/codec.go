package accounts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A fact as bytes; a batch and a snapshot are facts one after another:
//
//	┌────────┬──────┬────────────────┬───────────────────────────────────┐
//	│ format │ kind │ length uvarint │ the fields of the kind, in the    │
//	│   1    │  1   │     1…5        │ order of code()                   │
//	└────────┴──────┴────────────────┴───────────────────────────────────┘
//
// A string is a uvarint length and its bytes; a list a uvarint count and its strings; an unsigned number a uvarint;
// a signed one a zigzag varint; a bool one byte, 0 or 1.
const factFormat = 1

// AppendFact appends the fact's bytes.
func AppendFact(b []byte, f Fact) []byte {
	c := coder{encoding: true}
	c.code(&f)
	b = append(b, factFormat, byte(f.Kind))
	b = binary.AppendUvarint(b, uint64(len(c.b)))
	return append(b, c.b...)
}

// ParseFacts appends to facts what b holds: any number of facts. The result does not refer to b. It refuses a
// format or kind that this build does not know, and bytes that are no fact or not all of one.
func ParseFacts(facts []Fact, b []byte) ([]Fact, error) {
	for at, total := 0, len(b); len(b) > 0; at = total - len(b) {
		f, rest, err := parseFact(b)
		if err != nil {
			return facts, fmt.Errorf("accounts: fact at byte %d: %w", at, err)
		}
		facts, b = append(facts, f), rest
	}
	return facts, nil
}

var (
	errShort = errors.New("truncated")
	errValue = errors.New("a value is out of its range")
	errLong  = errors.New("unexpected bytes after its fields")
)

func parseFact(b []byte) (f Fact, rest []byte, err error) {
	if len(b) < 3 {
		return f, nil, errShort
	}
	if b[0] != factFormat {
		return f, nil, fmt.Errorf("format %d is unknown, this build reads %d", b[0], factFormat)
	}
	f.Kind = FactKind(b[1])
	n, width := binary.Uvarint(b[2:])
	if b = b[2:]; width <= 0 || n > uint64(len(b)-width) {
		return f, nil, errShort
	}
	b = b[width:]
	c := coder{b: b[:n]}
	if !c.code(&f) {
		return f, nil, fmt.Errorf("kind %d is unknown to this build", f.Kind)
	}
	if c.err == nil && len(c.b) > 0 {
		c.err = errLong
	}
	return f, b[n:], c.err
}

// A coder goes through the fields of a fact in one order for both directions: encoding it appends to b, else it
// takes from b and keeps the first error.
type coder struct {
	b        []byte
	encoding bool
	err      error
}

// code visits what is stored of the fact's kind; false means that the kind is unknown.
func (c *coder) code(f *Fact) bool {
	switch f.Kind {
	case UserPut:
		c.strings(&f.User)
		c.bytes(&f.Hash)
		c.algorithm(&f.Algorithm)
		c.list(&f.Tags)
	case UserDeleted:
		c.strings(&f.User)
	case VHostPut:
		c.strings(&f.VHost)
		c.logID(&f.LogID)
		c.strings(&f.Description, &f.DefaultQueueType)
		c.list(&f.Tags)
		c.bools(&f.Tracing, &f.Protected)
	case VHostDeleted:
		c.strings(&f.VHost)
	case PermissionSet:
		c.strings(&f.User, &f.VHost, &f.Configure, &f.Write, &f.Read)
	case PermissionCleared:
		c.strings(&f.User, &f.VHost)
	case TopicPermissionSet:
		c.strings(&f.User, &f.VHost, &f.Exchange, &f.Write, &f.Read)
	case TopicPermissionCleared:
		c.strings(&f.User, &f.VHost, &f.Exchange)
	case GlobalParameterSet:
		c.strings(&f.Name)
		c.bytes(&f.Value)
	case GlobalParameterCleared:
		c.strings(&f.Name)
	case VHostLimitSet:
		c.strings(&f.VHost, &f.Name)
		c.signed(&f.Limit)
	case VHostLimitCleared:
		c.strings(&f.VHost, &f.Name)
	case UserLimitSet:
		c.strings(&f.User, &f.Name)
		c.signed(&f.Limit)
	case UserLimitCleared:
		c.strings(&f.User, &f.Name)
	case LogIDsUsed:
		c.logID(&f.LogID)
	case DeedRecorded:
		c.deed(&f.Deed)
	case ImportBegun:
		c.strings(&f.Name)
		c.bytes(&f.Value)
	case ImportEnded:
	default:
		return false
	}
	return true
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *coder) unsigned(n *uint64, most uint64) {
	if c.encoding {
		c.b = binary.AppendUvarint(c.b, *n)
		return
	}
	value, width := binary.Uvarint(c.b)
	switch {
	case width == 0:
		c.fail(errShort)
	case width < 0 || value > most:
		c.fail(errValue)
	default:
		*n, c.b = value, c.b[width:]
	}
}

func (c *coder) signed(n *int64) {
	if c.encoding {
		c.b = binary.AppendVarint(c.b, *n)
		return
	}
	value, width := binary.Varint(c.b)
	switch {
	case width == 0:
		c.fail(errShort)
	case width < 0:
		c.fail(errValue)
	default:
		*n, c.b = value, c.b[width:]
	}
}

// logID keeps one number free, so that the next one always exists.
func (c *coder) logID(id *uint32) {
	n := uint64(*id)
	c.unsigned(&n, math.MaxUint32-1)
	*id = uint32(n)
}

func (c *coder) algorithm(a *Algorithm) {
	n := uint64(*a)
	c.unsigned(&n, uint64(MD5))
	*a = Algorithm(n)
}

func (c *coder) deed(d *Deed) {
	c.unsigned(&d.ID, math.MaxUint64-1)
	c.signed(&d.At)
	c.strings(&d.User, &d.From, &d.Action, &d.Object)
	status := uint64(d.Status)
	c.unsigned(&status, math.MaxUint16)
	d.Status = uint16(status)
	c.bytes(&d.Detail)
}

func (c *coder) bools(flags ...*bool) {
	for _, flag := range flags {
		var n uint64
		if *flag {
			n = 1
		}
		c.unsigned(&n, 1)
		*flag = n == 1
	}
}

func (c *coder) strings(fields ...*string) {
	for _, s := range fields {
		n := uint64(len(*s))
		c.unsigned(&n, math.MaxUint32)
		switch {
		case c.encoding:
			c.b = append(c.b, *s...)
		case n > uint64(len(c.b)):
			c.fail(errShort)
		default:
			*s, c.b = string(c.b[:n]), c.b[n:]
		}
	}
}

func (c *coder) bytes(field *[]byte) {
	s := string(*field)
	c.strings(&s)
	if !c.encoding && s != "" {
		*field = []byte(s)
	}
}

func (c *coder) list(field *[]string) {
	n := uint64(len(*field))
	c.unsigned(&n, uint64(math.MaxUint32))
	if c.encoding {
		for i := range *field {
			c.strings(&(*field)[i])
		}
		return
	}
	for ; n > 0 && c.err == nil; n-- { // each takes a byte at least, so n is bounded by what is there
		var s string
		c.strings(&s)
		*field = append(*field, s)
	}
}
