package vhost

import (
	"fmt"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// BenchmarkSetPolicy is how long others wait while a policy for ten queues of fifty thousand is set or taken away,
// beside twenty others.
func BenchmarkSetPolicy(b *testing.B) {
	const queues, others = 50_000, 20
	_, do := benchWorld(b)
	length := amqp.Table{{Name: "max-length", Value: amqp.Int64(1000)}}
	for i := range queues {
		do(Command{Kind: DeclareQueue, Definition: &Definition{Name: fmt.Sprint("orders.", i), Durable: true}})
	}
	for i := range others {
		do(Command{Kind: SetPolicy, Policy: &Policy{Name: fmt.Sprint("p", i), Pattern: fmt.Sprintf("^team%d\\..*", i), Definition: length}})
	}
	b.ResetTimer()
	for b.Loop() {
		do(Command{Kind: SetPolicy, Policy: &Policy{Name: "ten", Pattern: `^orders\.4711.?$`, Definition: length}})
		do(Command{Kind: ClearPolicy, Policy: &Policy{Name: "ten"}})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(2*b.N)/1000, "ms/change")
}
