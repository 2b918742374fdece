package resources

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/management/stats"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// An API serves what RabbitMQ's API has of virtual hosts and what is in them, of users and permissions.
type API struct {
	*web.Shared
	clients            stats.Roster
	sampler            *stats.Sampler
	reader             *stats.Reader
	passwords          Passwords
	noOperatorPolicies bool // operator policies may not be changed
	nameLists          nameLists
}

// Options are what an API needs.
type Options struct {
	Shared             *web.Shared
	Roster             stats.Roster
	Sampler            *stats.Sampler
	Reader             *stats.Reader
	Passwords          Passwords
	NoOperatorPolicies bool
}

// New returns an API.
func New(o Options) *API {
	return &API{
		Shared: o.Shared, clients: o.Roster, sampler: o.Sampler, reader: o.Reader, passwords: o.Passwords, noOperatorPolicies: o.NoOperatorPolicies,
	}
}

// Endpoints returns all endpoints of the package.
func (s *API) Endpoints() []web.Endpoint {
	return slices.Concat(
		s.vhostEndpoints(), limitEndpoints(), vhostOptionEndpoints(), s.userEndpoints(), s.passwordEndpoints(),
		permissionEndpoints(), topicPermissionEndpoints(), policyEndpoints(), s.parameterEndpoints(), explainEndpoints(),
		s.queueEndpoints(), namedQueueEndpoints(), s.exchangeEndpoints(), s.bindingEndpoints(), messageEndpoints(), s.connectionEndpoints(),
		replicaEndpoints(),
	)
}
