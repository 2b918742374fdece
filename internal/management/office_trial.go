package management

import (
	"slices"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/sift"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// whyAccess is why a letter stays that the caller may not send where it would go. The machine knows nothing of it.
const whyAccess = "access"

// trial tells what an order would do, as far as a request looks.
func (r *request) trial(o *vhost.Order) (*api.RedriveTrial, error) {
	var t vhost.RedriveTrial
	var shelf vhost.Shelf
	var room int64
	wall, until := r.server.engine.Now().UnixMilli(), time.Now().Add(trialPatience)
	more := true
	for cursor := uint64(0); more && t.Looked < trialMost && time.Now().Before(until); {
		var refused *amqp.Error
		var took time.Duration
		err := r.look(r.names[0], func(v *vhost.VHost) {
			began := time.Now()
			defer func() { took = time.Since(began) }()
			cursor, more, refused = v.TryRedrive(o, wall, cursor, trialPortion, &t)
			options, _ := v.Options()
			shelf, room = v.Shelf(), options.LostLettersMaxBytes
		})
		if err == nil && refused != nil {
			err = plainly(refused)
		}
		if err == nil && more {
			err = r.rest(took)
		}
		if err != nil {
			return nil, err
		}
	}
	shown := &api.RedriveTrial{
		Looked: int64(t.Looked), Matches: int64(t.Matches), Partial: more, Refused: showRefused(func(w vhost.Why) uint64 { return t.Refused[w] }),
		Queues: api.Object[int64]{}, Fits: !o.Discard || o.Source.Lost || shelf.Bytes+t.Bytes <= room,
	}
	for name, n := range t.Queues {
		shown.Queues[name] = int64(n)
	}
	for _, x := range t.Sample {
		shown.Sample = append(shown.Sample, showSample(&x))
	}
	return shown, nil
}

func showSample(x *vhost.RedriveSample) api.RedriveSample {
	shown := api.RedriveSample{ID: letterID(x.ID), Queues: x.Queues}
	if x.Why != 0 {
		shown.Refused = x.Why.String()
	}
	return shown
}

// needsLetters reports whether the right to give an order may depend on the letters that it is about: where they were published,
// or died.
func needsLetters(o *vhost.Order) bool {
	return o.Source.Lost || !o.Discard && (o.Way == vhost.WayOrigin || o.Way == vhost.WayElsewhere && o.Keys)
}

// narrow leaves in an order the letters for which the caller may give it. For most callers these are all. Of others the order
// names the letters one by one, since the machine that carries it out asks for nobody's permission; kept is how many are not
// among them.
func (r *request) narrow(o *vhost.Order) (kept int, err error) {
	host := r.names[0]
	if !needsLetters(o) || (!o.Source.Lost || r.readsAll(host)) && (o.Discard || o.Way == vhost.WayOn || r.writesAll(host)) {
		return 0, nil
	}
	var chosen []uint64
	choose := func(x *vhost.Seen) {
		m := x.Sift(sift.Deaths)
		may := o.Discard || o.Way == vhost.WayOn || o.Way == vhost.WayQueue
		switch {
		case may:
		case o.Way == vhost.WayElsewhere && o.Keys:
			may = r.mayPublish(host, o.Exchange, m.Keys...)
		case o.Way == vhost.WayElsewhere:
			may = r.mayPublish(host, o.Exchange, o.Key)
		default:
			may = r.mayPublish(host, m.Exchange, m.Keys...)
		}
		if may {
			chosen = append(chosen, x.ID)
		} else {
			kept++
		}
	}
	if o.IDs != nil {
		err = r.eachNamed(o, choose, &kept)
	} else {
		err = r.eachMeant(o, choose, func() bool { return len(chosen) >= vhost.OrderIDsMax || o.Max > 0 && uint64(len(chosen)) >= o.Max })
	}
	switch {
	case err != nil:
		return 0, err
	case chosen == nil && kept > 0:
		return 0, notAuthorised("Access refused.")
	case chosen == nil: // an order that names none would be about all
		return 0, badRequest("there is no letter that is meant and that you may see")
	}
	o.IDs, o.Filter = chosen, ""
	return kept, nil
}

// eachNamed visits the letters that an order names. Those that are not there stay named, and those that the caller may not see
// are counted.
func (r *request) eachNamed(o *vhost.Order, visit func(*vhost.Seen), unseen *int) error {
	s := &spot{host: r.names[0], Where: o.Source}
	for some := range slices.Chunk(o.IDs, walkNamed) {
		err := r.look(s.host, func(v *vhost.VHost) {
			for _, id := range some {
				x, there := v.Find(s.Where, id)
				switch {
				case !there:
				case s.sees(r, &x):
					visit(&x)
				default:
					*unseen++
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachMeant visits the letters that an order's filter means, until there are enough. It refuses to stop in between.
func (r *request) eachMeant(o *vhost.Order, visit func(*vhost.Seen), enough func() bool) error {
	f, err := r.siftBy(o.Filter)
	if err != nil {
		return err
	}
	w := r.walkThrough(&spot{host: r.names[0], Where: o.Source}, f, 0, o.Newest)
	err = w.each(func(_ *vhost.VHost, x *vhost.Seen) bool {
		visit(x)
		return !enough()
	})
	if err == nil && !w.ended && (o.Max == 0 || !enough()) {
		err = badRequest("your permissions are not for all letters, and there are too many to ask for each: narrow the filter, or name at most %d", vhost.OrderIDsMax)
	}
	return err
}
