package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// objects counts the memory of the queues, exchanges and bindings of all vhosts, and refuses new ones beyond a limit.
// They stay when the client that declared them is gone: a memory alarm that is raised by them would hold until an
// operator deletes some.
//
// Source: ours, decision 20.
type objects struct {
	most    int64        // bytes; zero: a part of the memory watermark
	bytes   atomic.Int64 // that they take, about
	refused atomic.Uint64
}

// The default limit: half of the memory watermark.
const (
	objectsShare   = 2        // one part in so many of the watermark
	objectsLeast   = 32 << 20 // bytes, of a watermark of zero, too
	objectsUnknown = 2 << 30  // where the memory of the machine is not known
)

// Objects are figures of queues, exchanges and bindings.
type Objects struct {
	Bytes   int64  // of memory that they take, about, without messages
	Max     int64  // bytes that they may take
	Refused uint64 // declarations and bindings beyond that
}

// Objects tells what queues, exchanges and bindings take.
func (e *Engine) Objects() Objects {
	return Objects{e.objects.bytes.Load(), e.objectsMax(), e.objects.refused.Load()}
}

func (e *Engine) objectsMax() int64 {
	if e.objects.most != 0 {
		return e.objects.most
	}
	return memoryPart(e.Resources(), objectsShare, objectsLeast, objectsUnknown)
}

// refuseObject refuses a new queue, exchange or binding if there is no memory for it. A virtual host has seven eighths
// of the limit at most, so that one that takes all it can leaves something to the others.
func (r *runner) refuseObject(c *vhost.Command) *amqp.Error {
	if !r.vhost.AddsObject(c) {
		return nil
	}
	r.countObjects()
	o := &r.engine.objects
	bytes := o.bytes.Load()
	if bytes < objectsLeast && o.most == 0 {
		return nil
	}
	whose, most := "all virtual hosts", r.engine.objectsMax()
	if own := most / 8 * 7; r.objects >= own {
		whose, bytes, most = fmt.Sprintf("virtual host '%s'", r.name), r.objects, own
	}
	if bytes < most {
		return nil
	}
	o.refused.Add(1)
	refused := amqp.PreconditionFailed("queues, exchanges and bindings of %s use %d bytes of memory, "+
		"the maximum is %d (declared_objects.max_bytes): delete some", whose, bytes, most)
	refused.Later = true
	return refused
}

// countObjects follows a change of what the objects of a vhost take.
func (r *runner) countObjects() {
	if now := r.vhost.ObjectBytes(); now != r.objects {
		r.engine.objects.bytes.Add(now - r.objects)
		r.objects = now
	}
}

// dropObjects takes the objects of a runner that ends off the count.
func (r *runner) dropObjects() {
	r.engine.objects.bytes.Add(-r.objects)
	r.objects = 0
}
