package fact

import (
	"encoding/binary"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/settings"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/topology"
)

// A batch, and a snapshot likewise, is
//
//	format(1) now(uvarint) { kind(1) fields }*
//
// drawn in docs/format/vhost.md. Numbers are uvarints unless they say otherwise, strings have their length
// before them, tables are as on the wire.

// FormatVersion begins every batch and snapshot. Source: docs/format.
const FormatVersion = 1

// Append encodes f; index is that of the batch it goes into.
func Append(b []byte, f *Fact, index storage.Index) []byte {
	b = append(b, byte(f.written()))
	switch f.Kind {
	case ExchangeDeclared, Bound, Unbound:
		b = appendObject(b, f.Object)
	case ExchangeDeleted:
		b = AppendText(b, f.Object.Name)
	case QueueDeclared:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = appendObject(b, f.Object)
	case QueueDeleted:
		b = binary.AppendUvarint(b, uint64(f.Queue))
	case PolicySet, PolicyCleared:
		b = appendPolicy(b, f.Policy)
	case Enqueued:
		b = appendEnqueued(b, f, index)
	case Handed:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = binary.AppendUvarint(b, f.N)
	case Returned:
		b = append(b, Bits(f.Failed, f.At != 0))
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		if f.At != 0 {
			b = binary.AppendUvarint(b, uint64(f.At))
		}
	case Resumed, Kept:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
	case Keyed:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = binary.BigEndian.AppendUint64(b, f.N)
	case Deferred, Arrived:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = binary.AppendUvarint(b, uint64(f.At))
	case Held:
		b = appendHeld(b, f)
	case Noted:
		b = append(b, Bits(!f.History.IsZero()))
		b = AppendText(b, f.Object.Name)
		b = AppendRef(b, f.Entry.Ref(0))
		if !f.History.IsZero() {
			b = AppendRef(b, f.History)
		}
	case Tallied:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = binary.AppendUvarint(b, f.N)
	case Configured:
		b = amqp.AppendTable(b, f.Object.Arguments)
	case Ended:
		b = append(b, byte(f.Cause))
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = binary.AppendUvarint(b, f.N)
	case Counted:
		b = binary.AppendUvarint(b, f.Books.Made)
		listed := len(f.Books.Ended)
		for listed > causesListed && f.Books.Ended[listed-1] == 0 {
			listed--
		}
		b = binary.AppendUvarint(b, uint64(listed))
		for _, n := range f.Books.Ended[:listed] {
			b = binary.AppendUvarint(b, n)
		}
	case Skipped:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
	case Paged, Cancellations:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = AppendText(b, f.Bytes)
	case PendingFree:
		b = AppendText(b, f.Bytes)
	case HeldNoted:
		b = appendHeld(b, f)
	case Used:
		b = appendUse(b, f)
	case JobBegun, JobProgressed:
		b = binary.AppendUvarint(b, f.N)
		b = AppendText(b, f.Bytes)
	case JobForgotten, TxCommitted, TxDropped:
		b = binary.AppendUvarint(b, f.N)
	case TxStaged:
		b = binary.AppendUvarint(b, f.N)
		b = AppendText(b, f.Bytes)
	case TxApplied, TxReached:
		b = binary.AppendUvarint(b, f.N)
		b = binary.AppendUvarint(b, uint64(f.Seq))
	case Ruled:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, f.N)
	case Orphaned:
		b = binary.AppendUvarint(b, f.N)
		b = AppendText(b, f.Object.Name)
	case Matched:
		b = append(b, Bits(f.Policy.Operator))
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = AppendText(b, f.Object.Name)
		b = AppendText(b, f.Policy.Name)
	case Stored, Remembered:
		panic("fact: a record is encoded by whoever stores it")
	}
	return b
}

// written is the kind that stands for f in bytes.
func (f *Fact) written() Kind {
	if f.Kind == Enqueued && f.Entry.Flags&queue.AtWork != 0 {
		return EnqueuedAtWork
	}
	return f.Kind
}

// causesListed is how many causes are listed in any case; those that came later are if they have counted something.
const causesListed = 14

func appendObject(b []byte, o *Object) []byte {
	b = append(b, Bits(o.Durable, o.AutoDelete, o.Exclusive, o.Internal, o.ToExchange))
	b = AppendText(b, o.Name)
	b = AppendText(b, o.Type)
	b = AppendText(b, o.Source)
	b = AppendText(b, o.RoutingKey)
	return amqp.AppendTable(b, o.Arguments)
}

func appendPolicy(b []byte, p *settings.Policy) []byte {
	b = append(b, Bits(p.Operator))
	b = AppendText(b, p.Name)
	b = AppendText(b, p.Pattern)
	b = AppendText(b, p.ApplyTo)
	b = binary.AppendVarint(b, p.Priority)
	return amqp.AppendTable(b, p.Definition)
}

const (
	entryExpires  = 1 << iota // an instant follows
	entryHistory              // a history's ref follows
	entryElse                 // the record is in another batch, whose index follows
	entryReturned             // redelivered
	entryCounted              // counts follow; only in snapshots
	entryHanded               // with a consumer; only in snapshots
	entryWaiting              // the instant until which it waits follows
	entryTold                 // its headers tell of a failure
)

func appendEnqueued(b []byte, f *Fact, index storage.Index) []byte {
	e := &f.Entry
	flags := byte(0)
	if e.ExpireAt != 0 {
		flags |= entryExpires
	}
	if e.Flags&queue.HasHistory != 0 {
		flags |= entryHistory
	}
	if e.Index != index {
		flags |= entryElse
	}
	if e.Flags&queue.Redelivered != 0 {
		flags |= entryReturned
	}
	if f.N > 0 {
		flags |= entryCounted
	}
	if e.Flags&queue.Handed != 0 {
		flags |= entryHanded
	}
	if f.At != 0 {
		flags |= entryWaiting
	}
	if e.Flags&queue.ReportsFailure != 0 {
		flags |= entryTold
	}
	b = append(b, flags, e.Priority)
	b = binary.AppendUvarint(b, uint64(f.Queue))
	b = binary.AppendUvarint(b, uint64(f.Seq))
	if flags&entryElse != 0 {
		b = binary.AppendUvarint(b, uint64(e.Index))
	}
	b = binary.AppendUvarint(b, uint64(e.Offset))
	b = binary.AppendUvarint(b, uint64(e.Size))
	b = binary.AppendUvarint(b, uint64(e.BodyBytes))
	if flags&entryExpires != 0 {
		b = binary.AppendUvarint(b, uint64(e.ExpireAt))
	}
	if flags&entryHistory != 0 {
		b = AppendRef(b, f.History)
	}
	if flags&entryCounted != 0 {
		b = binary.AppendUvarint(b, f.N)
	}
	if flags&entryWaiting != 0 {
		b = binary.AppendUvarint(b, uint64(f.At))
	}
	return b
}

func appendUse(b []byte, f *Fact) []byte {
	b = binary.AppendUvarint(b, uint64(f.Index))
	b = binary.AppendUvarint(b, uint64(len(f.Use)))
	var first storage.Index
	for _, u := range f.Use {
		b = binary.AppendUvarint(b, uint64(u.First-first))
		b = binary.AppendUvarint(b, uint64(u.Refs))
		b = binary.AppendUvarint(b, uint64(u.Bytes))
		first = u.First
	}
	return b
}

func parseUse(r *Decoder, f *Fact) {
	f.Index = storage.Index(r.Uint())
	var first storage.Index
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		first += storage.Index(r.Uint())
		f.Use = append(f.Use, storage.UseRange{First: first, Refs: int64(r.Uint()), Bytes: int64(r.Uint())})
	}
}

// AppendRef names a record in any batch of the vhost's log.
func AppendRef(b []byte, r storage.Ref) []byte {
	b = binary.AppendUvarint(b, uint64(r.Index))
	b = binary.AppendUvarint(b, uint64(r.Offset))
	return binary.AppendUvarint(b, uint64(r.Size))
}

func ParseRef(r *Decoder, log storage.LogID) storage.Ref {
	return storage.Ref{Log: log, Index: storage.Index(r.Uint()), Offset: uint32(r.Uint()), Size: uint32(r.Uint())}
}

func appendHeld(b []byte, f *Fact) []byte {
	b = append(b, byte(f.Cause))
	b = binary.AppendUvarint(b, uint64(f.Queue))
	b = binary.AppendUvarint(b, uint64(f.Seq))
	b = AppendRef(b, f.History)
	b = binary.AppendUvarint(b, uint64(len(f.Took)))
	for _, id := range f.Took {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return b
}

func parseHeld(r *Decoder, f *Fact, log storage.LogID) {
	f.Cause = Cause(r.Byte())
	f.Queue, f.Seq = QueueID(r.Uint()), queue.Seq(r.Uint())
	f.History = ParseRef(r, log)
	for n := r.Uint(); n > 0 && r.Err == nil; n-- {
		f.Took = append(f.Took, QueueID(r.Uint()))
	}
}

func Parse(r *Decoder, log storage.LogID, index storage.Index) (Fact, error) {
	f := Fact{Kind: Kind(r.Byte()), Durable: true}
	switch f.Kind {
	case ExchangeDeclared, Bound, Unbound:
		f.Object = parseObject(r)
		if f.Kind == ExchangeDeclared && r.Err == nil && !ExchangeOf(f.Object).Kind.Valid() {
			return f, fmt.Errorf("exchange %q has unknown type %q", f.Object.Name, f.Object.Type)
		}
	case ExchangeDeleted:
		f.Object = &Object{Name: r.Text()}
	case QueueDeclared:
		f.Queue = QueueID(r.Uint())
		f.Object = parseObject(r)
	case QueueDeleted:
		f.Queue = QueueID(r.Uint())
	case PolicySet, PolicyCleared:
		f.Policy = parsePolicy(r)
	case Stored, Remembered:
		f.Bytes = r.sized()
	case Enqueued:
		parseEnqueued(r, &f, log, index)
	case EnqueuedAtWork:
		f.Kind = Enqueued
		parseEnqueued(r, &f, log, index)
		f.Entry.Flags |= queue.AtWork
	case Handed:
		f.Queue, f.Seq, f.N = QueueID(r.Uint()), queue.Seq(r.Uint()), r.Uint()
	case Returned:
		flags := r.Byte()
		f.Failed = flags&1 != 0
		f.Queue, f.Seq = QueueID(r.Uint()), queue.Seq(r.Uint())
		if flags&2 != 0 {
			f.At = deadline.Instant(r.Uint())
		}
	case Resumed, Kept:
		f.Queue, f.Seq = QueueID(r.Uint()), queue.Seq(r.Uint())
	case Deferred, Arrived:
		f.Queue, f.Seq, f.At = QueueID(r.Uint()), queue.Seq(r.Uint()), deadline.Instant(r.Uint())
	case Keyed:
		f.Queue, f.Seq, f.N = QueueID(r.Uint()), queue.Seq(r.Uint()), r.Fixed()
	case Paged, Cancellations:
		f.Queue, f.Seq, f.Bytes = QueueID(r.Uint()), queue.Seq(r.Uint()), r.Bytes()
	case PendingFree:
		f.Bytes = r.Bytes()
	case Used:
		parseUse(r, &f)
	case Held, HeldNoted:
		parseHeld(r, &f, log)
		if f.Cause >= Causes {
			return f, fmt.Errorf("unknown cause %d", f.Cause)
		}
	case Tallied:
		f.Queue, f.Seq, f.N = QueueID(r.Uint()), queue.Seq(r.Uint()), r.Uint()
	case Noted:
		hasHistory := r.Byte() != 0
		f.Object = &Object{Name: r.Text()}
		f.Entry = EntryAt(ParseRef(r, log))
		if hasHistory {
			f.History = ParseRef(r, log)
		}
	case Configured:
		f.Object = &Object{Arguments: r.table()}
	case Ended:
		f.Cause = Cause(r.Byte())
		f.Queue, f.Seq, f.N = QueueID(r.Uint()), queue.Seq(r.Uint()), r.Uint()
		if f.Cause >= Causes {
			return f, fmt.Errorf("unknown cause %d", f.Cause)
		}
	case Counted:
		f.Books = parseBooks(r)
	case Skipped:
		f.Queue, f.Seq = QueueID(r.Uint()), queue.Seq(r.Uint())
	case JobBegun, JobProgressed:
		f.N, f.Bytes = r.Uint(), r.Bytes()
	case JobForgotten, TxCommitted, TxDropped:
		f.N = r.Uint()
	case TxStaged:
		f.N, f.Bytes = r.Uint(), r.Bytes()
	case TxApplied, TxReached:
		f.N, f.Seq = r.Uint(), queue.Seq(r.Uint())
	case Ruled:
		f.Queue, f.N = QueueID(r.Uint()), r.Uint()
	case Orphaned:
		f.N = r.Uint()
		f.Object = &Object{Name: r.Text()}
	case Matched:
		operator := r.Byte()&1 != 0
		f.Queue = QueueID(r.Uint())
		f.Object = &Object{Name: r.Text()}
		f.Policy = &settings.Policy{Name: r.Text(), Operator: operator}
	default:
		return f, fmt.Errorf("unknown fact %d", f.Kind)
	}
	return f, nil
}

func parseObject(r *Decoder) *Object {
	flags := r.Byte()
	return &Object{
		Durable: flags&1 != 0, AutoDelete: flags&2 != 0, Exclusive: flags&4 != 0, Internal: flags&8 != 0, ToExchange: flags&16 != 0,
		Name: r.Text(), Type: r.Text(), Source: r.Text(), RoutingKey: r.Text(), Arguments: r.table(),
	}
}

func parsePolicy(r *Decoder) *settings.Policy {
	return &settings.Policy{
		Operator: r.Byte() != 0, Name: r.Text(), Pattern: r.Text(), ApplyTo: r.Text(), Priority: r.Int(), Definition: r.table(),
	}
}

func parseBooks(r *Decoder) *Books {
	b := &Books{Made: r.Uint()}
	for i := range min(r.Uint(), Causes) {
		b.Ended[i] = r.Uint()
	}
	return b
}

func parseEnqueued(r *Decoder, f *Fact, log storage.LogID, index storage.Index) {
	flags := r.Byte()
	e := &f.Entry
	e.Flags = queue.Persistent
	e.Priority = r.Byte()
	f.Queue, f.Seq = QueueID(r.Uint()), queue.Seq(r.Uint())
	e.Index = index
	if flags&entryElse != 0 {
		e.Index = storage.Index(r.Uint())
		e.Flags |= queue.Moved
	}
	e.Offset, e.Size, e.BodyBytes = uint32(r.Uint()), uint32(r.Uint()), uint32(r.Uint())
	if flags&entryExpires != 0 {
		e.ExpireAt = deadline.Instant(r.Uint())
	}
	if flags&entryReturned != 0 {
		e.Flags |= queue.Redelivered
	}
	if flags&entryHanded != 0 {
		e.Flags |= queue.Handed
	}
	if flags&entryTold != 0 {
		e.Flags |= queue.ReportsFailure
	}
	if flags&entryHistory != 0 {
		e.Flags |= queue.HasHistory
		f.History = ParseRef(r, log)
	}
	if flags&entryCounted != 0 {
		f.N = r.Uint()
	}
	if flags&entryWaiting != 0 {
		f.At = deadline.Instant(r.Uint())
	}
}

// EntryAt is an entry that says no more than where its record lies.
func EntryAt(r storage.Ref) queue.Entry {
	e := queue.Entry{Index: r.Index, Offset: r.Offset, Size: r.Size}
	if r.Log == storage.Volatile {
		e.Flags = queue.Volatile
	}
	return e
}

// ExchangeOf is the exchange that an object declares.
func ExchangeOf(o *Object) topology.Exchange {
	kind, _ := topology.ParseKind(o.Type)
	delayed := o.Type == topology.DelayedType
	if delayed {
		kind, _ = topology.DelayedKind(o.Arguments)
	}
	return topology.Exchange{
		Name: o.Name, Kind: kind, Delayed: delayed, Durable: o.Durable, AutoDelete: o.AutoDelete, Internal: o.Internal, Arguments: o.Arguments,
	}
}
