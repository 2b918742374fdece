package management

import (
	"errors"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/search"
)

// getIndex tells of the index of letters.
func getIndex(r *request) (answer, error) {
	s := r.server.options.Index.Stats()
	return ok(api.Index{
		Enabled: s.Enabled, Letters: s.Letters, Behind: s.Behind, Bytes: s.Bytes, LagMS: s.Lag.Milliseconds(), Indexed: s.Indexed,
	})
}

// rebuildIndex has the letters of a virtual host indexed anew. Until that is done searches look at them all.
func rebuildIndex(r *request) (answer, error) {
	if err := r.enter(r.names[0]); err != nil {
		return answer{}, err
	}
	err := r.server.options.Index.Rebuild(r.names[0])
	if errors.Is(err, search.ErrOff) {
		return answer{}, badRequest("dead letters are not indexed: index.enabled is false, or the broker runs in memory")
	}
	if err != nil {
		return answer{}, err
	}
	return nothing()
}

// indexMetrics are those of the index of letters, if there is one.
func (s *Server) indexMetrics(x *exposition) {
	m := s.options.Index.Stats()
	if !m.Enabled {
		return
	}
	one(x, "bartleby_index_letters", gauge, "Indexed dead letters", m.Letters)
	one(x, "bartleby_index_behind", gauge, "Approximate number of messages not indexed yet", m.Behind)
	one(x, "bartleby_index_bytes", gauge, "Size of the index on disk", m.Bytes)
	one(x, "bartleby_index_lag_seconds", gauge, "Time since the index was last complete", m.Lag.Seconds())
	one(x, "bartleby_index_indexed_total", counter, "Total number of indexed dead letters", m.Indexed)
	one(x, "bartleby_index_work_seconds_total", counter, "Total time spent indexing", m.Worked.Seconds())
}
