package api

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// A Binding of GET /api/bindings.
type Binding struct {
	Source          string    `json:"source"`
	VHost           string    `json:"vhost"`
	Destination     string    `json:"destination"`
	DestinationType string    `json:"destination_type"` // queue or exchange
	RoutingKey      string    `json:"routing_key"`
	Arguments       Arguments `json:"arguments"`
	PropertiesKey   string    `json:"properties_key"` // from PropertiesKey
}

// PostBinding is the body of POST /api/bindings/{vhost}/e/{source}/q/{destination}; both keys are optional.
type PostBinding struct {
	RoutingKey string    `json:"routing_key"`
	Arguments  Arguments `json:"arguments"`
}

// PropertiesKey names a binding among those between the same two ends, in one path segment: "~" for an empty key
// without arguments, the percent-encoded key without arguments, else the key, "~" and a digest of the arguments,
// whose order does not count. Source: RabbitMQ management API, bindings.
func PropertiesKey(routingKey string, args amqp.Table) string {
	switch {
	case len(args) > 0:
		return escapeKey(routingKey) + "~" + digest(args)
	case routingKey == "":
		return "~"
	}
	return escapeKey(routingKey)
}

// escapeKey leaves only letters, digits, '-', '.' and '_' as they are, so that the key survives any client's escaping.
func escapeKey(key string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func digest(args amqp.Table) string {
	sorted := slices.SortedStableFunc(slices.Values(args), func(a, b amqp.Field) int { return cmp.Compare(a.Name, b.Name) })
	h := fnv.New64a()
	h.Write(amqp.AppendTable(nil, sorted))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, h.Sum64()))
}
