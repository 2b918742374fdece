package vhost

import "github.com/bartleby-mq/bartleby/internal/storage"

// Storage says where the messages of a vhost are.
type Storage struct {
	Hot, Cold int   // messages of which the queue's entries are in memory, and in pages
	Live      int64 // bytes of the log and of pages that are referred to, at most
	// messages that died or came back while the disk was full or memory scarce, and wait in their queues
	PutOff int
}

// Storage tells where messages are: those of queues, and lost letters.
func (r Reader) Storage() Storage {
	s := Storage{Hot: r.v.pool.HotMessages(), PutOff: len(r.v.off)}
	all := r.v.lost.messages.Len()
	for _, q := range r.v.queues {
		all += q.messages.Len()
	}
	s.Cold = all - s.Hot
	for _, ranges := range [][]storage.UseRange{r.v.use.Ranges(), r.v.pool.PageUse()} {
		for _, r := range ranges {
			s.Live += r.Bytes
		}
	}
	return s
}
