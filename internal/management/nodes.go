package management

import (
	"context"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// cap32 keeps a number in what some clients read as unsigned 32 bits.
func cap32(n int64) int64 { return max(0, min(n, math.MaxUint32)) }

func (s *Server) node(ctx context.Context, w spans) api.Node {
	reading, trend := readNode(ctx, s.engine, s.options.Roster), s.sampler.nodeTrend(w)
	files, m, clocks := readFiles(), s.engine.Resources(), s.engine.Time()
	connections := s.options.Roster.Connections()
	return api.Node{
		Name: s.options.Node, Type: "disc", Running: true, OSPid: strconv.Itoa(os.Getpid()),
		Uptime: cap32(time.Since(s.started).Milliseconds()), Processors: runtime.GOMAXPROCS(0), RatesMode: "basic",
		EnabledPlugins: api.Plugins(),
		FDUsed:         files.open, FDTotal: cap32(files.most),
		SocketsUsed: int64(len(connections)), SocketsTotal: cap32(files.most),
		// Goroutines have no limit of their own: the largest number that clients can read.
		ProcUsed: int64(runtime.NumGoroutine()), ProcTotal: math.MaxUint32,
		MemUsed: m.MemoryUsed, MemLimit: m.MemoryLimit, MemAlarm: m.Alarms.Has(engine.LowMemory), MemStrategy: "rss",
		DiskFree: max(m.DiskFree, 0), DiskFreeLimit: m.DiskLimit,
		DiskFreeAlarm: m.Alarms.Has(engine.LowDisk | engine.JournalFull), JournalAlarm: m.Alarms.Has(engine.JournalFull),
		StorageState: storageState(s.engine),
		ClockAlarm:   clocks.Alarm(), ClockBehindMS: clocks.Behind().Milliseconds(),
		DBDir: s.options.Data, ExchangeTypes: exchangeTypes(),
		ConfigFiles: s.options.ConfigFiles, LogFiles: s.options.LogFiles, AuthMechanisms: s.mechanisms(),
		Applications: api.List[api.Application]{
			{Name: "rabbit", Description: s.options.Product, Version: api.RabbitMQVersion},
			{Name: "rabbitmq_management", Description: "Management API", Version: api.RabbitMQVersion},
			{Name: "rabbitmq_prometheus", Description: "Prometheus metrics", Version: api.RabbitMQVersion},
		},
		Contexts: s.contexts(), RabbitMQVersion: api.RabbitMQVersion, ErlangVersion: runtime.Version(), CryptoLibVersion: runtime.Version(),
		NetTicktime: netTicktime, Listeners: s.listeners(),
		NodeStats: reading.stats(&trend),
	}
}

// mechanisms are all that RabbitMQ has, with whether they are offered here.
func (s *Server) mechanisms() (all api.List[api.Mechanism]) {
	for _, m := range []api.Mechanism{
		{Name: "PLAIN", Description: "SASL PLAIN authentication mechanism"},
		{Name: "AMQPLAIN", Description: "QPid AMQPLAIN mechanism"},
		{Name: "EXTERNAL", Description: "SASL EXTERNAL authentication mechanism"},
	} {
		m.Enabled = slices.Contains(s.options.Mechanisms, m.Name)
		all = append(all, m)
	}
	return all
}

// showNode shows the node, with what memory is used for if the query asks for it.
func (r *request) showNode() (api.Node, error) {
	w, err := r.spans()
	if err != nil {
		return api.Node{}, err
	}
	n := r.server.node(r.Context(), w)
	if r.flag("memory") {
		m := r.server.breakdown()
		n.Memory = &m
	}
	return n, nil
}

func getNodes(r *request) (answer, error) {
	n, err := r.showNode()
	if err != nil {
		return answer{}, err
	}
	return list(r, []api.Node{n}, func(n *api.Node) string { return n.Name })
}

func getNode(r *request) (answer, error) {
	if err := r.needNode(); err != nil {
		return answer{}, err
	}
	n, err := r.showNode()
	if err != nil {
		return answer{}, err
	}
	return ok(n)
}
