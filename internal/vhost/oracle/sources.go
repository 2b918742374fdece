package oracle

import "github.com/bartleby-mq/bartleby/internal/amqp"

// sources are where a setting can come from.
type sources [3]amqp.Table

const (
	argument = iota
	userPolicy
	operatorPolicy
)

// unset is what no source says.
const unset = -1 << 62

func (t *sources) number(from int, key string) (int64, bool) {
	if from == argument {
		key = "x-" + key
	}
	return number(t[from], key)
}

// smallest is the smallest of all that is said, -1 if nothing is.
func (t *sources) smallest(key string) int64 {
	least := int64(-1)
	for from := range t {
		if n, ok := t.number(from, key); ok && (least < 0 || n < least) {
			least = n
		}
	}
	return least
}

// deliveryLimit: the smaller of two; if one is negative, which is unlimited, the larger.
// Source: docs/compat/quorum-and-retry.md#1, docs/compat/policies-and-permissions.md#5.
func (t *sources) deliveryLimit() int64 {
	limit := int64(unset)
	for from := range t {
		n, ok := t.number(from, "delivery-limit")
		switch {
		case !ok:
		case limit == unset:
			limit = n
		case n < 0 || limit < 0:
			limit = max(n, limit)
		default:
			limit = min(n, limit)
		}
	}
	if limit != unset {
		return max(limit, -1)
	}
	return limit
}

// consumerTimeout: the smaller of two, where 0 is none at all; what the vhost says counts if nobody else says anything.
// Source: docs/compat/quorum-and-retry.md#7.
func (v *VHost) consumerTimeout(t *sources) int64 {
	timeout := int64(-1)
	for from := range t {
		if n, ok := t.number(from, "consumer-timeout"); ok && (timeout <= 0 || n > 0 && n < timeout) {
			timeout = n
		}
	}
	if timeout < 0 {
		return v.option("consumer-timeout", 1_800_000)
	}
	return timeout
}

// retryMin: of two policies the larger, of policy and argument the smaller. Source: docs/compat/quorum-and-retry.md#6.
func (t *sources) retryMin() int64 {
	u, hasU := t.number(userPolicy, "delayed-retry-min")
	o, hasO := t.number(operatorPolicy, "delayed-retry-min")
	if hasO && (!hasU || o > u) {
		u, hasU = o, true
	}
	a, hasA := t.number(argument, "delayed-retry-min")
	if hasA && (!hasU || a < u) {
		u, hasU = a, true
	}
	if !hasU {
		return -1
	}
	return u
}

// text is what the first source says that says anything.
func (t *sources) text(key string, order ...int) (string, bool) {
	for _, from := range order {
		name := key
		if from == argument {
			name = "x-" + key
		}
		if a, ok := t[from].Get(name); ok {
			return a.Str, true
		}
	}
	return "", false
}
