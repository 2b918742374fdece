package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

const xMatch = "x-match"

// headers compares binding arguments with header fields, binding by binding.
// Source: RabbitMQ, routing: headers.
type headers struct {
	rules []rule // in the order of binding; some may be gone
	gone  int    // of rules, fewer than half: a rule takes much memory to move
}

// rule is a binding made ready to compare.
type rule struct {
	b    *binding     // nil if it is gone
	seq  uint64       // of the binding
	any  bool         // one field is enough
	want []amqp.Field // those that count
}

func newHeaders(*Exchange) matcher { return &headers{} }

func (h *headers) add(b *binding) {
	mode := "all"
	if v, ok := b.Arguments.Get(xMatch); ok {
		mode = v.Str
	}
	r := rule{b: b, seq: b.seq, any: strings.HasPrefix(mode, "any")}
	withX := strings.HasSuffix(mode, "-with-x")
	for _, f := range b.Arguments {
		if f.Name != xMatch && (withX || !strings.HasPrefix(f.Name, "x-")) {
			r.want = append(r.want, f)
		}
	}
	h.rules = append(h.rules, r)
}

func (h *headers) remove(gone bindingList) (moved int) {
	for _, b := range gone {
		i, found := slices.BinarySearchFunc(h.rules, b.seq, func(r rule, seq uint64) int { return cmp.Compare(r.seq, seq) })
		if found {
			h.rules[i] = rule{seq: b.seq}
			h.gone++
		}
	}
	if 2*h.gone >= len(h.rules) {
		moved = lookWork * len(h.rules)
		h.rules = slices.DeleteFunc(h.rules, func(r rule) bool { return r.b == nil })
		h.gone = 0
	}
	return moved
}

func (h *headers) match(w *walk) {
	for i := range h.rules {
		if w.work++; w.tooMuch() {
			return
		}
		if h.rules[i].b != nil && h.rules[i].satisfied(w) {
			w.reach(h.rules[i].b)
		}
	}
}

// satisfied: all of nothing is satisfied, any of nothing is not.
func (r *rule) satisfied(w *walk) bool {
	for i := range r.want {
		w.work += headerWork
		v, present := w.header(r.want[i].Name)
		want := r.want[i].Value
		if present && !isVoid(want) {
			present = want.Equivalent(v)
		}
		if present == r.any {
			return r.any
		}
	}
	return !r.any
}

// isVoid: an argument without a value asks for presence alone.
func isVoid(v amqp.Value) bool { return v.Kind == amqp.KindVoid || v.Kind == 0 }

// checkHeadersBinding refuses an x-match that is not one of the four.
// Source: RabbitMQ, binding arguments.
func checkHeadersBinding(b Binding) error {
	v, ok := b.Arguments.Get(xMatch)
	if !ok {
		return nil
	}
	if v.Kind != amqp.KindString {
		return amqp.PreconditionFailed("Invalid x-match field type %s (value %s); expected longstr", v.TypeName(), term(v))
	}
	switch v.Str {
	case "all", "any", "all-with-x", "any-with-x":
		return nil
	}
	return amqp.PreconditionFailed("Invalid x-match field value %s; expected all, any, all-with-x, or any-with-x", term(v))
}

// term renders a value as RabbitMQ's texts do, as an Erlang term; tables and arrays by their size alone.
func term(v amqp.Value) string {
	if n, ok := v.Integer(); ok {
		return strconv.FormatInt(n, 10)
	}
	if f, ok := v.Float(); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	switch v.Kind {
	case amqp.KindString, amqp.KindBinary:
		return binaryTerm(v.Str)
	case amqp.KindBool:
		return strconv.FormatBool(v.Int != 0)
	case amqp.KindTimestamp:
		return strconv.FormatUint(uint64(v.Int), 10)
	case amqp.KindDecimal:
		return fmt.Sprintf("{%d,%d}", v.Scale, v.Int)
	case amqp.KindTable:
		return fmt.Sprintf("[%d fields]", len(v.Table))
	case amqp.KindArray:
		return fmt.Sprintf("[%d values]", len(v.Array))
	}
	return "undefined"
}

// binaryTerm renders s as text if all of it can be printed, else octet by octet.
func binaryTerm(s string) string {
	if s == "" {
		return "<<>>"
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return fmt.Sprintf("<<%q>>", s)
	}
	octets := make([]string, len(s))
	for i := range len(s) {
		octets[i] = strconv.Itoa(int(s[i]))
	}
	return "<<" + strings.Join(octets, ",") + ">>"
}
