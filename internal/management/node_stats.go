package management

import (
	"context"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
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

// A nodeReading is what the node shows at an instant.
type nodeReading struct {
	figures     [nodeFigures]uint64
	read, synch time.Duration // spent on reading, and on syncs
}

// readNode reads the node's figures.
func readNode(ctx context.Context, e *engine.Engine, roster Roster) (n nodeReading) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	files, use, storage, run := readFiles(), e.Resources(), e.Storage(ctx), readRuntime()
	n.readChurn(ctx, e)
	f := &n.figures
	f[atFiles], f[atSockets] = uint64(files.open), uint64(len(roster.Connections()))
	f[atGoroutines] = uint64(run.at("/sched/goroutines:goroutines"))
	f[atMemory], f[atDisk] = uint64(max(use.MemoryUsed, 0)), uint64(max(use.DiskFree, 0))
	f[atCollections], f[atCollected] = uint64(run.at("/gc/cycles/total:gc-cycles")), uint64(run.at("/gc/heap/frees:bytes"))
	f[atSwitches] = uint64(contextSwitches())
	f[atReads], f[atReadBytes], f[atSyncs] = uint64(storage.Reads.Count), uint64(storage.Reads.Bytes), storage.Syncs.Count
	for _, w := range writtenBytes(&storage) {
		f[atWrittenBytes] += uint64(w.bytes)
	}
	n.read, n.synch = storage.Reads.Took, storage.Syncs.Sum
	return n
}

// readChurn reads those of the figures that the overview shows, too.
func (n *nodeReading) readChurn(ctx context.Context, e *engine.Engine) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	churn, traffic := e.Churn(), e.Retired().Traffic
	for _, h := range e.Access().VHosts() {
		err := look(ctx, e, h.Name, func(v *vhost.VHost) {
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

// nodeTrend is the trend of the node's figures.
func (s *sampler) nodeTrend(w spans) trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.node.trend(nodeFigures, func(int) span { return w.node })
}

// churn renders comings and goings. Source: RabbitMQ management API, churn_rates.
func (n *nodeReading) churn(t *trend) api.ChurnRates {
	f := &n.figures
	return api.ChurnRates{
		ConnectionCreated: f[atConnectionsOpened], ConnectionCreatedDetails: t.of(atConnectionsOpened),
		ConnectionClosed: f[atConnectionsClosed], ConnectionClosedDetails: t.of(atConnectionsClosed),
		ChannelCreated: f[atChannelsOpened], ChannelCreatedDetails: t.of(atChannelsOpened),
		ChannelClosed: f[atChannelsClosed], ChannelClosedDetails: t.of(atChannelsClosed),
		QueueDeclared: f[atQueuesDeclared], QueueDeclaredDetails: t.of(atQueuesDeclared),
		QueueCreated: f[atQueuesCreated], QueueCreatedDetails: t.of(atQueuesCreated),
		QueueDeleted: f[atQueuesDeleted], QueueDeletedDetails: t.of(atQueuesDeleted),
	}
}

// stats renders the figures of the node. Source: RabbitMQ management API, nodes.
func (n *nodeReading) stats(t *trend) api.NodeStats {
	f := &n.figures
	each := func(took time.Duration, count uint64) float64 { // ms
		return float64(took.Microseconds()) / 1000 / float64(max(count, 1))
	}
	return api.NodeStats{
		FDUsedDetails: t.of(atFiles), SocketsUsedDetails: t.of(atSockets), ProcUsedDetails: t.of(atGoroutines),
		MemUsedDetails: t.of(atMemory), DiskFreeDetails: t.of(atDisk),
		GCNum: f[atCollections], GCNumDetails: t.of(atCollections),
		GCBytesReclaimed: f[atCollected], GCBytesReclaimedDetails: t.of(atCollected),
		ContextSwitches: f[atSwitches], ContextSwitchesDetails: t.of(atSwitches),
		IOReadCount: f[atReads], IOReadCountDetails: t.of(atReads), IOReadBytes: f[atReadBytes], IOReadBytesDetails: t.of(atReadBytes),
		IOReadAvgTime: each(n.read, f[atReads]),
		IOWriteCount:  f[atSyncs], IOWriteCountDetails: t.of(atSyncs), IOWriteBytes: f[atWrittenBytes], IOWriteBytesDetails: t.of(atWrittenBytes),
		IOSyncCount: f[atSyncs], IOSyncCountDetails: t.of(atSyncs), IOSyncAvgTime: each(n.synch, f[atSyncs]),
		MsgStoreReadCount: f[atReads],
		ChurnRates:        n.churn(t),
	}
}
