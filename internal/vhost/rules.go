package vhost

import (
	"cmp"
	"slices"
)

// A change of policies or options for more queues than a step reaches comes into force in portions, by the
// numbers of the queues:
//
//	Ruled 0 …  PolicySet  Ruled 4096 …  Ruled 8192 …  Ruled 9999
//	 │          │          └ in force on the queues up to this number
//	 │          └ in force on exchanges, and on queues that are declared from here on
//	 └ the next change is not in force on queues at once
//
// Facts are folded by the settings that a queue has at that moment, so the log says when they change. The
// answer comes behind the last portion. A restart goes on; a checkpoint waits for the end. What changes
// meanwhile begins again with the first queue.
// Source: ours, decision 18.
type ruling struct {
	on        bool
	upTo      QueueID                  // queues with greater numbers have their old settings
	concerned []func(*queueState) bool // by the changes since all had theirs; one of them is enough
}

// repoliced is a queue that other policies or options are in force on than before, when its own TTL was
// expires.
type repoliced struct {
	queue   *queueState
	expires int64
}

// Ruling reports whether a change of policies or options is in force on some queues alone. A checkpoint
// cannot say that.
func (v *VHost) Ruling() bool { return v.ruling.on }

// changeRules makes a change of policies or options, which f is, and puts it in force: at once, or in
// portions. The answer comes when it is in force on all. Source: reference policies-and-permissions 7.
func (v *VHost) changeRules(s *Stamp, c *Command, f *Fact, out *Outcome) {
	n := v.conns[c.Conn]
	if n == nil {
		n = &conn{}
	}
	answer := Effect{Kind: Done, Command: c.Kind, Channel: c.Channel}
	many := v.ruling.on || len(v.ordered) > v.rules()
	if many {
		v.emit(s, &Fact{Kind: Ruled, Durable: true, N: 1}, out)
	}
	v.emit(s, f, out)
	if !many {
		v.inForce(s, c.Kind, out)
	}
	v.inPortions(s, ongoing{conn: n, portion: func(s Stamp, out *Outcome) (more bool) {
		if v.rule(&s, answer.Command, out) {
			return true
		}
		answer.After = v.newest(out)
		out.effect(answer, s.Index)
		return false
	}}, out)
}

// rules is how many queues a step computes settings for, and looks at.
func (v *VHost) rules() int { return max(v.stepMax/workOfRule, 1) }

// reach is how many queues a step reaches.
func (v *VHost) reach() int { return max(v.stepMax/workOfFact, 1) }

// rule puts what has changed in force on a portion of the queues, and reports whether there are more.
func (v *VHost) rule(s *Stamp, k CommandKind, out *Outcome) (more bool) {
	if !v.ruling.on {
		return false
	}
	rest := v.behind(v.ruling.upTo)
	n := min(v.rules(), len(rest))
	f := Fact{Kind: Ruled, Durable: true, Queue: v.ruling.upTo, N: uint64(bits(n < len(rest)))}
	if n > 0 {
		f.Queue = rest[n-1].id
	}
	if v.mutant != MutantForgetRuled || f.N == 0 {
		v.emit(s, &f, out)
	} else {
		v.apply(&f)
	}
	v.inForce(s, k, out)
	v.work += n * workOfRule
	return f.N == 1
}

// behind lists the queues with greater numbers.
func (v *VHost) behind(id QueueID) []*queueState {
	i, found := slices.BinarySearchFunc(v.ordered, id, func(q *queueState, id QueueID) int { return cmp.Compare(q.id, id) })
	if found {
		i++
	}
	return v.ordered[i:]
}

// inForce enforces what repolice has changed: limits at once, a queue expiry that a policy has changed
// from now on.
func (v *VHost) inForce(s *Stamp, k CommandKind, out *Outcome) {
	for _, r := range v.repoliced {
		if r.queue.settings.Expires != r.expires && k != SetOptions {
			v.armExpiry(s, r.queue)
		}
		v.touch(r.queue, 0)
	}
	v.repoliced = nil
	v.sweepSoon(s)
}

// resumeRules goes on after a restart.
func (v *VHost) resumeRules(s *Stamp, out *Outcome) {
	if v.ruling.on {
		goOn := func(s Stamp, out *Outcome) bool { return v.rule(&s, SetPolicy, out) }
		v.inPortions(s, ongoing{conn: &conn{}, portion: goOn}, out)
	}
}

// ruled folds Ruled.
func (v *VHost) ruled(f *Fact) {
	r := &v.ruling
	switch {
	case f.Queue == 0 && f.N == 1:
		r.on, r.upTo = true, 0
		return
	case !r.on:
		return
	}
	v.ruleChanges++
	v.repoliced = nil
	for _, q := range v.behind(r.upTo) {
		if q.id > f.Queue {
			break
		}
		v.repolice(q, func(q *queueState) bool {
			return slices.ContainsFunc(r.concerned, func(concerned func(*queueState) bool) bool { return concerned(q) })
		})
	}
	if r.upTo = f.Queue; f.N == 0 {
		*r = ruling{}
	}
}

// rulesChanged has what a change of policies or options is in force on computed anew: at once, or by Ruled.
func (v *VHost) rulesChanged(concerned func(*queueState) bool) {
	v.ruleChanges++
	if v.repoliced = nil; v.ruling.on {
		v.ruling.concerned = append(v.ruling.concerned, concerned)
		if len(v.ruling.concerned) > rulingMax {
			v.ruling.concerned = []func(*queueState) bool{func(*queueState) bool { return true }}
		}
		return
	}
	for _, q := range v.ordered {
		v.repolice(q, concerned)
	}
}

// repolice computes anew what a queue runs with, if it is concerned.
func (v *VHost) repolice(q *queueState, concerned func(*queueState) bool) {
	if q.schedule == nil && !q.deleted && concerned(q) {
		v.repoliced = append(v.repoliced, repoliced{q, q.settings.Expires})
		v.applyPoliciesTo(q)
	}
}

// endRuling puts what has changed in force on all queues, without a fact: for a checkpoint that cannot wait.
func (v *VHost) endRuling() {
	if v.ruling.on {
		v.ruled(&Fact{Kind: Ruled, Queue: v.queueMax})
		v.repoliced = nil
	}
}
