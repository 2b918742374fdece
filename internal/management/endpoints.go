package management

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/management/schedule"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// endpoints are all paths below /api. Source: RabbitMQ management API; docs/compat/http-api.md#1.5, #3.
func (s *Server) endpoints() []web.Endpoint {
	return slices.Concat(
		s.overviewEndpoints(), s.nodeEndpoints(), s.nodeActionEndpoints(), s.memoryEndpoints(), featureEndpoints(),
		s.loginEndpoints(), s.sessionEndpoints(), s.eventEndpoints(), s.openAPIEndpoints(), auditEndpoints(),
		s.listenerEndpoints(), s.clockEndpoints(), s.logLevelEndpoints(), resourceLimitEndpoints(), storageEndpoints(), backupEndpoints(),
		s.healthEndpoints(), s.healthUpkeepEndpoints(), topologyEndpoints(), pathEndpoints(), contribEndpoints(),
		s.resources.Endpoints(), s.definitions.Endpoints(), s.deadletter.Endpoints(), schedule.Endpoints(),
	)
}
