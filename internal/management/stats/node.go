package stats

import (
	"context"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// The figures of the node that are remembered.
const (
	atFiles = iota
	atSockets
	atGoroutines
	atMemory
	atDisk
	atCollections
	atCollected // bytes
	atSwitches
	atReads
	atReadBytes
	atSyncs
	atWrittenBytes
	atConnectionsOpened
	atConnectionsClosed
	atChannelsOpened
	atChannelsClosed
	atQueuesDeclared
	atQueuesCreated
	atQueuesDeleted
	nodeFigures
)

// A NodeReading is what the node shows at an instant.
type NodeReading struct {
	figures     [nodeFigures]uint64
	read, synch time.Duration // spent on reading, and on syncs
}

// ReadNode reads the node's figures.
func ReadNode(ctx context.Context, e *engine.Engine, roster Roster) (n NodeReading) {
	ctx, cancel := context.WithTimeout(ctx, web.LookPatience)
	defer cancel()
	files, use, storage, run := ReadFiles(), e.Resources(), e.Storage(ctx), ReadRuntime()
	n.ReadChurn(ctx, e)
	f := &n.figures
	f[atFiles], f[atSockets] = uint64(files.Open), uint64(len(roster.Connections()))
	f[atGoroutines] = uint64(run.At("/sched/goroutines:goroutines"))
	f[atMemory], f[atDisk] = uint64(max(use.MemoryUsed, 0)), uint64(max(use.DiskFree, 0))
	f[atCollections], f[atCollected] = uint64(run.At("/gc/cycles/total:gc-cycles")), uint64(run.At("/gc/heap/frees:bytes"))
	f[atSwitches] = uint64(ContextSwitches())
	f[atReads], f[atReadBytes], f[atSyncs] = uint64(storage.Reads.Count), uint64(storage.Reads.Bytes), storage.Syncs.Count
	for _, w := range WrittenBytes(&storage) {
		f[atWrittenBytes] += uint64(w.Bytes)
	}
	n.read, n.synch = storage.Reads.Took, storage.Syncs.Sum
	return n
}

// ReadChurn reads those of the figures that the overview shows, too.
func (n *NodeReading) ReadChurn(ctx context.Context, e *engine.Engine) {
	ctx, cancel := context.WithTimeout(ctx, web.LookPatience)
	defer cancel()
	churn, traffic := e.Churn(), e.Retired().Traffic
	for _, h := range e.Accounts().VHosts() {
		err := web.Look(ctx, e, h.Name, func(v vhost.Reader) {
			t := v.Traffic()
			traffic.Add(&t)
		})
		if err != nil {
			continue // it is down: what it has counted is not known
		}
	}
	f := &n.figures
	f[atConnectionsOpened], f[atConnectionsClosed] = churn.ConnectionsOpened, churn.ConnectionsClosed
	f[atChannelsOpened], f[atChannelsClosed] = churn.ChannelsOpened, churn.ChannelsClosed
	f[atQueuesDeclared], f[atQueuesCreated], f[atQueuesDeleted] = traffic.QueuesDeclared, traffic.QueuesCreated, traffic.QueuesDeleted
}

// NodeTrend is the trend of the node's figures.
func (s *Sampler) NodeTrend(w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.node.trend(nodeFigures, s.mu.runs, func(int) span { return w.node })
}

// Churn renders comings and goings. Source: RabbitMQ management API, churn_rates.
func (n *NodeReading) Churn(t *Trend) api.ChurnRates {
	f := &n.figures
	return api.ChurnRates{
		ConnectionCreated: f[atConnectionsOpened], ConnectionCreatedDetails: t.Of(atConnectionsOpened),
		ConnectionClosed: f[atConnectionsClosed], ConnectionClosedDetails: t.Of(atConnectionsClosed),
		ChannelCreated: f[atChannelsOpened], ChannelCreatedDetails: t.Of(atChannelsOpened),
		ChannelClosed: f[atChannelsClosed], ChannelClosedDetails: t.Of(atChannelsClosed),
		QueueDeclared: f[atQueuesDeclared], QueueDeclaredDetails: t.Of(atQueuesDeclared),
		QueueCreated: f[atQueuesCreated], QueueCreatedDetails: t.Of(atQueuesCreated),
		QueueDeleted: f[atQueuesDeleted], QueueDeletedDetails: t.Of(atQueuesDeleted),
	}
}

// Stats renders the figures of the node. Source: RabbitMQ management API, nodes.
func (n *NodeReading) Stats(t *Trend) api.NodeStats {
	f := &n.figures
	each := func(took time.Duration, count uint64) float64 { // ms
		return float64(took.Microseconds()) / 1000 / float64(max(count, 1))
	}
	return api.NodeStats{
		FDUsedDetails: t.Of(atFiles), SocketsUsedDetails: t.Of(atSockets), ProcUsedDetails: t.Of(atGoroutines),
		MemUsedDetails: t.Of(atMemory), DiskFreeDetails: t.Of(atDisk),
		GCNum: f[atCollections], GCNumDetails: t.Of(atCollections),
		GCBytesReclaimed: f[atCollected], GCBytesReclaimedDetails: t.Of(atCollected),
		ContextSwitches: f[atSwitches], ContextSwitchesDetails: t.Of(atSwitches),
		IOReadCount: f[atReads], IOReadCountDetails: t.Of(atReads), IOReadBytes: f[atReadBytes], IOReadBytesDetails: t.Of(atReadBytes),
		IOReadAvgTime: each(n.read, f[atReads]),
		IOWriteCount:  f[atSyncs], IOWriteCountDetails: t.Of(atSyncs), IOWriteBytes: f[atWrittenBytes], IOWriteBytesDetails: t.Of(atWrittenBytes),
		IOSyncCount: f[atSyncs], IOSyncCountDetails: t.Of(atSyncs), IOSyncAvgTime: each(n.synch, f[atSyncs]),
		MsgStoreReadCount: f[atReads],
		ChurnRates:        n.Churn(t),
	}
}
