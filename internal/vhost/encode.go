package vhost

import (
	"encoding/binary"
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/queue"
	"github.com/bartleby-mq/bartleby/internal/storage"
)

// A batch, and a snapshot likewise, is
//
//	format(1) now(uvarint) { kind(1) fields }*
//
// drawn in docs/format/vhost.md. Numbers are uvarints unless they say otherwise, strings have their length
// before them, tables are as on the wire.

// appendFact encodes f; index is that of the batch it goes into.
func appendFact(b []byte, f *Fact, index storage.Index) []byte {
	b = append(b, byte(f.Kind))
	switch f.Kind {
	case ExchangeDeclared, Bound, Unbound:
		b = appendObject(b, f.Object)
	case ExchangeDeleted:
		b = appendText(b, f.Object.Name)
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
		b = append(b, bits(f.Failed, f.At != 0))
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
	case Deferred:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, uint64(f.Seq))
		b = binary.AppendUvarint(b, uint64(f.At))
	case Held:
		b = appendHeld(b, f)
	case Noted:
		b = append(b, bits(!f.History.IsZero()))
		b = appendText(b, f.Object.Name)
		b = appendRef(b, f.Entry.Ref(0))
		if !f.History.IsZero() {
			b = appendRef(b, f.History)
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
		b = appendText(b, f.Bytes)
	case PendingFree:
		b = appendText(b, f.Bytes)
	case HeldNoted:
		b = appendHeld(b, f)
	case Used:
		b = appendUse(b, f)
	case JobBegun, JobProgressed:
		b = binary.AppendUvarint(b, f.N)
		b = appendText(b, f.Bytes)
	case JobForgotten, TxCommitted, TxDropped:
		b = binary.AppendUvarint(b, f.N)
	case TxStaged:
		b = binary.AppendUvarint(b, f.N)
		b = appendText(b, f.Bytes)
	case TxApplied, TxReached:
		b = binary.AppendUvarint(b, f.N)
		b = binary.AppendUvarint(b, uint64(f.Seq))
	case Ruled:
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = binary.AppendUvarint(b, f.N)
	case Orphaned:
		b = binary.AppendUvarint(b, f.N)
		b = appendText(b, f.Object.Name)
	case Matched:
		b = append(b, bits(f.Policy.Operator))
		b = binary.AppendUvarint(b, uint64(f.Queue))
		b = appendText(b, f.Object.Name)
		b = appendText(b, f.Policy.Name)
	case Stored, Remembered:
		panic("vhost: records are encoded by Outcome.store")
	}
	return b
}

// causesListed is how many causes are listed in any case; those that came later are if they have counted something.
const causesListed = 14

func appendObject(b []byte, o *Object) []byte {
	b = append(b, bits(o.Durable, o.AutoDelete, o.Exclusive, o.Internal, o.ToExchange))
	b = appendText(b, o.Name)
	b = appendText(b, o.Type)
	b = appendText(b, o.Source)
	b = appendText(b, o.RoutingKey)
	return amqp.AppendTable(b, o.Arguments)
}

func appendPolicy(b []byte, p *Policy) []byte {
	b = append(b, bits(p.Operator))
	b = appendText(b, p.Name)
	b = appendText(b, p.Pattern)
	b = appendText(b, p.ApplyTo)
	b = binary.AppendVarint(b, p.Priority)
	return amqp.AppendTable(b, p.Definition)
}

const (
	entryExpires  = 1 << iota // an instant follows
	entryLetter               // a history's ref follows
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
	if e.Flags&queue.Letter != 0 {
		flags |= entryLetter
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
	if flags&entryLetter != 0 {
		b = appendRef(b, f.History)
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

func parseUse(r *decoder, f *Fact) {
	f.Index = storage.Index(r.uint())
	var first storage.Index
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		first += storage.Index(r.uint())
		f.Use = append(f.Use, storage.UseRange{First: first, Refs: int64(r.uint()), Bytes: int64(r.uint())})
	}
}

// appendRef names a record in any batch of the vhost's log.
func appendRef(b []byte, r storage.Ref) []byte {
	b = binary.AppendUvarint(b, uint64(r.Index))
	b = binary.AppendUvarint(b, uint64(r.Offset))
	return binary.AppendUvarint(b, uint64(r.Size))
}

func parseRef(r *decoder, log storage.LogID) storage.Ref {
	return storage.Ref{Log: log, Index: storage.Index(r.uint()), Offset: uint32(r.uint()), Size: uint32(r.uint())}
}

func appendHeld(b []byte, f *Fact) []byte {
	b = append(b, byte(f.Cause))
	b = binary.AppendUvarint(b, uint64(f.Queue))
	b = binary.AppendUvarint(b, uint64(f.Seq))
	b = appendRef(b, f.History)
	b = binary.AppendUvarint(b, uint64(len(f.Took)))
	for _, id := range f.Took {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return b
}

func parseHeld(r *decoder, f *Fact, log storage.LogID) {
	f.Cause = Cause(r.byte())
	f.Queue, f.Seq = QueueID(r.uint()), queue.Seq(r.uint())
	f.History = parseRef(r, log)
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		f.Took = append(f.Took, QueueID(r.uint()))
	}
}

// Fold applies a batch of the vhost's log, or a snapshot with index 0, made by this or an earlier version.
// An error says that the data is not what was written: the vhost must not be used.
func (v *VHost) Fold(index storage.Index, batch []byte) error {
	v.unresolved = index == 0 // a checkpoint
	err := v.fold(index, batch)
	v.resolve()
	return err
}

func (v *VHost) fold(index storage.Index, batch []byte) error {
	r := decoder{rest: batch}
	if format := r.byte(); r.err == nil && format != formatVersion {
		return fmt.Errorf("vhost %q: batch %d has format %d, this version reads %d", v.name, index, format, formatVersion)
	}
	v.logged = max(v.logged, deadline.Instant(r.uint()))
	for len(r.rest) > 0 && r.err == nil {
		v.mayGoOn()
		f, err := parseFact(&r, v.log, index)
		if err != nil {
			return fmt.Errorf("vhost %q: batch %d: %w", v.name, index, err)
		}
		if r.err != nil {
			break
		}
		if f.Kind.forCheckpoints() && index != 0 {
			return fmt.Errorf("vhost %q: batch %d: fact %d is for checkpoints", v.name, index, f.Kind)
		}
		if err := v.plausible(&f); err != nil {
			return fmt.Errorf("vhost %q: batch %d: %w", v.name, index, err)
		}
		if f.Queue != 0 && !f.Kind.defines() {
			v.resolve()
		}
		v.apply(&f)
	}
	v.forgetOrphans()
	v.trim()
	if r.err != nil {
		return fmt.Errorf("vhost %q: batch %d: %w", v.name, index, r.err)
	}
	return nil
}

// InterruptBy has ask called while batches are folded, at least once for each name that policies are matched with. Its
// first error ends Fold with a storage.Fault, as one of a read does: the vhost must not be used then. With nil nobody
// is asked any more.
func (v *VHost) InterruptBy(ask func() error) { v.interrupt = ask }

// mayGoOn ends a Fold that was interrupted.
func (v *VHost) mayGoOn() {
	if v.interrupt == nil {
		return
	}
	if err := v.interrupt(); err != nil {
		panic(storage.Fault{Err: err})
	}
}

// plausible reports what shows that a fact does not belong to the state that it is folded into.
func (v *VHost) plausible(f *Fact) error {
	q := v.queueOf(f.Queue)
	switch f.Kind {
	case QueueDeclared:
		_, taken := v.topo.Queue(f.Object.Name)
		if f.Object.Type == scheduleType {
			taken = v.schedules[f.Object.Name] != nil
		}
		if taken || q != nil {
			return fmt.Errorf("queue %d, %q, already exists", f.Queue, f.Object.Name)
		}
	case Enqueued, Skipped:
		if q != nil && !q.messages.Fits(f.Seq) {
			return fmt.Errorf("queue %d cannot have message %d", f.Queue, f.Seq)
		}
		if q != nil && q == v.lost && Cause(f.Entry.Priority) >= causes { // there it stands in the place of the priority
			return fmt.Errorf("unknown cause %d", f.Entry.Priority)
		}
	}
	return nil
}

func parseFact(r *decoder, log storage.LogID, index storage.Index) (Fact, error) {
	f := Fact{Kind: FactKind(r.byte()), Durable: true}
	switch f.Kind {
	case ExchangeDeclared, Bound, Unbound:
		f.Object = parseObject(r)
		if f.Kind == ExchangeDeclared && r.err == nil && !exchangeOf(f.Object).Kind.Valid() {
			return f, fmt.Errorf("exchange %q has unknown type %q", f.Object.Name, f.Object.Type)
		}
	case ExchangeDeleted:
		f.Object = &Object{Name: r.text()}
	case QueueDeclared:
		f.Queue = QueueID(r.uint())
		f.Object = parseObject(r)
	case QueueDeleted:
		f.Queue = QueueID(r.uint())
	case PolicySet, PolicyCleared:
		f.Policy = parsePolicy(r)
	case Stored, Remembered:
		f.Bytes = r.sized()
	case Enqueued:
		parseEnqueued(r, &f, log, index)
	case Handed:
		f.Queue, f.Seq, f.N = QueueID(r.uint()), queue.Seq(r.uint()), r.uint()
	case Returned:
		flags := r.byte()
		f.Failed = flags&1 != 0
		f.Queue, f.Seq = QueueID(r.uint()), queue.Seq(r.uint())
		if flags&2 != 0 {
			f.At = deadline.Instant(r.uint())
		}
	case Resumed, Kept:
		f.Queue, f.Seq = QueueID(r.uint()), queue.Seq(r.uint())
	case Deferred:
		f.Queue, f.Seq, f.At = QueueID(r.uint()), queue.Seq(r.uint()), deadline.Instant(r.uint())
	case Keyed:
		f.Queue, f.Seq, f.N = QueueID(r.uint()), queue.Seq(r.uint()), r.fixed()
	case Paged, Cancellations:
		f.Queue, f.Seq, f.Bytes = QueueID(r.uint()), queue.Seq(r.uint()), r.bytes()
	case PendingFree:
		f.Bytes = r.bytes()
	case Used:
		parseUse(r, &f)
	case Held, HeldNoted:
		parseHeld(r, &f, log)
		if f.Cause >= causes {
			return f, fmt.Errorf("unknown cause %d", f.Cause)
		}
	case Tallied:
		f.Queue, f.Seq, f.N = QueueID(r.uint()), queue.Seq(r.uint()), r.uint()
	case Noted:
		letter := r.byte() != 0
		f.Object = &Object{Name: r.text()}
		f.Entry = entryAt(parseRef(r, log))
		if letter {
			f.History = parseRef(r, log)
		}
	case Configured:
		f.Object = &Object{Arguments: r.table()}
	case Ended:
		f.Cause = Cause(r.byte())
		f.Queue, f.Seq, f.N = QueueID(r.uint()), queue.Seq(r.uint()), r.uint()
		if f.Cause >= causes {
			return f, fmt.Errorf("unknown cause %d", f.Cause)
		}
	case Counted:
		f.Books = parseBooks(r)
	case Skipped:
		f.Queue, f.Seq = QueueID(r.uint()), queue.Seq(r.uint())
	case JobBegun, JobProgressed:
		f.N, f.Bytes = r.uint(), r.bytes()
	case JobForgotten, TxCommitted, TxDropped:
		f.N = r.uint()
	case TxStaged:
		f.N, f.Bytes = r.uint(), r.bytes()
		if err := checkStep(f.Bytes); r.err == nil && err != nil {
			return f, err
		}
	case TxApplied, TxReached:
		f.N, f.Seq = r.uint(), queue.Seq(r.uint())
	case Ruled:
		f.Queue, f.N = QueueID(r.uint()), r.uint()
	case Orphaned:
		f.N = r.uint()
		f.Object = &Object{Name: r.text()}
	case Matched:
		operator := r.byte()&1 != 0
		f.Queue = QueueID(r.uint())
		f.Object = &Object{Name: r.text()}
		f.Policy = &Policy{Name: r.text(), Operator: operator}
	default:
		return f, fmt.Errorf("unknown fact %d", f.Kind)
	}
	return f, nil
}

func parseObject(r *decoder) *Object {
	flags := r.byte()
	return &Object{
		Durable: flags&1 != 0, AutoDelete: flags&2 != 0, Exclusive: flags&4 != 0, Internal: flags&8 != 0, ToExchange: flags&16 != 0,
		Name: r.text(), Type: r.text(), Source: r.text(), RoutingKey: r.text(), Arguments: r.table(),
	}
}

func parsePolicy(r *decoder) *Policy {
	return &Policy{
		Operator: r.byte() != 0, Name: r.text(), Pattern: r.text(), ApplyTo: r.text(), Priority: r.int(), Definition: r.table(),
	}
}

func parseBooks(r *decoder) *Books {
	b := &Books{Made: r.uint()}
	for i := range min(r.uint(), causes) {
		b.Ended[i] = r.uint()
	}
	return b
}

func parseEnqueued(r *decoder, f *Fact, log storage.LogID, index storage.Index) {
	flags := r.byte()
	e := &f.Entry
	e.Flags = queue.Persistent
	e.Priority = r.byte()
	f.Queue, f.Seq = QueueID(r.uint()), queue.Seq(r.uint())
	e.Index = index
	if flags&entryElse != 0 {
		e.Index = storage.Index(r.uint())
		e.Flags |= queue.Moved
	}
	e.Offset, e.Size, e.BodyBytes = uint32(r.uint()), uint32(r.uint()), uint32(r.uint())
	if flags&entryExpires != 0 {
		e.ExpireAt = deadline.Instant(r.uint())
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
	if flags&entryLetter != 0 {
		e.Flags |= queue.Letter
		f.History = parseRef(r, log)
	}
	if flags&entryCounted != 0 {
		f.N = r.uint()
	}
	if flags&entryWaiting != 0 {
		f.At = deadline.Instant(r.uint())
	}
}
