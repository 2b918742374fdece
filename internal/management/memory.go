package management

import (
	"encoding/json"
	"runtime/metrics"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) memoryEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET nodes/{node}/memory", Tag: authz.Monitoring, Serve: s.getNodeMemory,
			Summary: "Memory use of a node by category, in bytes", Out: api.NodeMemory{},
		},
		{
			Pattern: "GET nodes/{node}/memory/relative", Tag: authz.Monitoring, Serve: s.getRelativeMemory,
			Summary: "Memory use of a node by category, in percent", Out: api.NodeMemory{},
		},
	}
}

// The figures of the runtime that the breakdown of memory is made of, in bytes.
const (
	memoryTotal    = "/memory/classes/total:bytes"
	memoryReleased = "/memory/classes/heap/released:bytes"
	memoryFree     = "/memory/classes/heap/free:bytes"
	memoryObjects  = "/memory/classes/heap/objects:bytes"
	memoryStacks   = "/memory/classes/heap/stacks:bytes"
	memoryUnused   = "/memory/classes/heap/unused:bytes"
	memoryLive     = "/gc/heap/live:bytes"
	memoryProfiles = "/memory/classes/profiling/buckets:bytes"
)

// breakdown says what memory is used for. The runtime knows kinds of memory, not what an object belongs to: live
// objects are shown as queues, which most of them are of. Reading the figures stops nobody.
func (s *Server) breakdown() api.MemoryBreakdown {
	samples := []metrics.Sample{
		{Name: memoryTotal}, {Name: memoryReleased}, {Name: memoryFree}, {Name: memoryObjects},
		{Name: memoryStacks}, {Name: memoryUnused}, {Name: memoryLive}, {Name: memoryProfiles},
	}
	metrics.Read(samples)
	n := map[string]int64{}
	for _, x := range samples {
		if x.Value.Kind() == metrics.KindUint64 {
			n[x.Name] = int64(x.Value.Uint64())
		}
	}
	live := min(n[memoryLive], n[memoryObjects])
	allocated := n[memoryTotal] - n[memoryReleased]
	m := api.MemoryBreakdown{
		QueueProcs: live, Binary: n[memoryObjects] - live + n[memoryUnused], OtherProc: n[memoryStacks],
		Metrics: n[memoryProfiles], AllocatedUnused: n[memoryFree], Strategy: "rss",
	}
	m.OtherSystem = max(0, allocated-m.QueueProcs-m.Binary-m.OtherProc-m.Metrics-m.AllocatedUnused)
	rss := s.Engine.Resources().MemoryUsed
	m.ReservedUnallocated = max(0, rss-allocated)
	// Three integers cannot fail to be rendered.
	m.Total, _ = json.Marshal(api.MemoryTotal{RSS: rss, Allocated: allocated, Erlang: allocated - m.AllocatedUnused})
	return m
}

func (s *Server) getNodeMemory(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	return web.OK(api.NodeMemory{Memory: s.breakdown()})
}

// getRelativeMemory shows each part of memory in parts of a hundred. Source: RabbitMQ management API, memory/relative.
func (s *Server) getRelativeMemory(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	m := s.breakdown()
	parts := []*int64{&m.QueueProcs, &m.Binary, &m.OtherProc, &m.Metrics, &m.AllocatedUnused, &m.OtherSystem, &m.ReservedUnallocated}
	var sum int64
	for _, p := range parts {
		sum += *p
	}
	for _, p := range parts {
		*p = (*p*100 + sum/2) / max(sum, 1)
	}
	m.Strategy, m.Total = "", json.RawMessage("100")
	return web.OK(api.NodeMemory{Memory: m})
}
