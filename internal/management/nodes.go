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
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) nodeEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET nodes", Tag: authz.Monitoring, Serve: s.getNodes, Scope: web.AllNodes,
			Summary: "The nodes", Out: api.List[api.Node]{},
		},
		{Pattern: "GET nodes/{node}", Tag: authz.Monitoring, Serve: s.getNode, Summary: "A node", Out: api.Node{}},
	}
}

// cap32 keeps a number in what some clients read as unsigned 32 bits.
func cap32(n int64) int64 { return max(0, min(n, math.MaxUint32)) }

func (s *Server) showNode(ctx context.Context, w stats.Spans) api.Node {
	reading, trend := stats.ReadNode(ctx, s.Engine, s.options.Roster), s.sampler.NodeTrend(w)
	files, m, clocks := stats.ReadFiles(), s.Engine.Resources(), s.Engine.Time()
	connections := s.options.Roster.Connections()
	return api.Node{
		Name: s.options.Node, Type: "disc", Running: true, OSPid: strconv.Itoa(os.Getpid()),
		Uptime: cap32(time.Since(s.started).Milliseconds()), Processors: runtime.GOMAXPROCS(0), RatesMode: "basic",
		EnabledPlugins: api.Plugins(),
		FDUsed:         files.Open, FDTotal: cap32(files.Most),
		SocketsUsed: int64(len(connections)), SocketsTotal: cap32(files.Most),
		// Goroutines have no limit of their own: the largest number that clients can read.
		ProcUsed: int64(runtime.NumGoroutine()), ProcTotal: math.MaxUint32,
		MemUsed: m.MemoryUsed, MemLimit: m.MemoryLimit, MemAlarm: m.Alarms.Has(resource.LowMemory), MemStrategy: "rss",
		DiskFree: max(m.DiskFree, 0), DiskFreeLimit: m.DiskLimit,
		DiskFreeAlarm: m.Alarms.Has(resource.LowDisk | resource.JournalFull), JournalAlarm: m.Alarms.Has(resource.JournalFull),
		StorageState: storageState(s.Engine),
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
		NodeStats: reading.Stats(&trend), Readings: s.sampler.Readings(w),
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
func (s *Server) shownNode(r *web.Request) (api.Node, error) {
	w, err := stats.SpansOf(r)
	if err != nil {
		return api.Node{}, err
	}
	n := s.showNode(r.Context(), w)
	if r.Flag("memory") {
		m := s.breakdown()
		n.Memory = &m
	}
	return n, nil
}

func (s *Server) getNodes(r *web.Request) (web.Answer, error) {
	n, err := s.shownNode(r)
	if err != nil {
		return web.Answer{}, err
	}
	return web.List(r, []api.Node{n}, func(n *api.Node) string { return n.Name })
}

func (s *Server) getNode(r *web.Request) (web.Answer, error) {
	if err := r.NeedNode(); err != nil {
		return web.Answer{}, err
	}
	n, err := s.shownNode(r)
	if err != nil {
		return web.Answer{}, err
	}
	return web.OK(n)
}
