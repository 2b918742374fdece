package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// clientDeaths reads the x-death header of a publisher as the history that it is in the dialect of RabbitMQ up to
// 3.12: the newest clientDeathsMax entries of it that name a queue and a reason that there is. told reports whether
// there is such a header, whatever is in it.
// Source: docs/compat/dead-lettering.md#8.
func clientDeaths(headers []byte) (deaths []fact.Death, told bool) {
	if headers == nil {
		return nil, false
	}
	value, ok, err := amqp.LookupField(headers, "x-death")
	if err != nil || !ok {
		return nil, false
	}
	for _, entry := range value.Array {
		if len(deaths) == clientDeathsMax {
			break
		}
		if d, ok := clientDeath(entry); ok {
			deaths = append(deaths, d)
		}
	}
	return deaths, true
}

func clientDeath(entry amqp.Value) (d fact.Death, ok bool) {
	if entry.Kind != amqp.KindTable {
		return d, false
	}
	for _, f := range entry.Table {
		switch f.Name {
		case "queue":
			d.Queue = f.Value.Str
		case "exchange":
			d.Exchange = f.Value.Str
		case "reason":
			for r := fact.Rejected; r <= fact.DeliveryLimit; r++ {
				if r.String() == f.Value.Str {
					d.Reason = r
				}
			}
		case "count":
			if n, ok := f.Value.Integer(); ok && n > 0 {
				d.Count = n
			}
		case "time":
			d.Time = f.Value.Int
		case "routing-keys":
			for _, k := range f.Value.Array {
				d.Keys = append(d.Keys, k.Str)
			}
		case "original-expiration":
			d.HadTTL, d.Expiration = true, f.Value.Str
		}
	}
	return d, d.Queue != "" && d.Reason != 0
}
