package deadletter

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/search"
)

// An API is the state of the endpoints of dead letters.
type API struct {
	*web.Shared
	index   *search.Index
	sampler *stats.Sampler
	reader  *stats.Reader
	rates   rates
}

// New returns an API that searches with an index.
func New(common *web.Shared, index *search.Index, from *stats.Sampler, now *stats.Reader) *API {
	return &API{Shared: common, index: index, sampler: from, reader: now}
}

// Endpoints returns all endpoints of the package.
func (s *API) Endpoints() []web.Endpoint {
	return slices.Concat(
		s.deathEndpoints(), s.lostEndpoints(), lostChangeEndpoints(), browseEndpoints(), s.summaryEndpoints(), s.searchEndpoints(),
		s.exportEndpoints(), importEndpoints(), resendEndpoints(), s.indexEndpoints(), s.jobEndpoints(), s.redriveEndpoints(),
		noteEndpoints(),
	)
}
