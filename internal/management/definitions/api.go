package definitions

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// An API exports and imports definitions.
type API struct {
	*web.Shared
	resources        *resources.API
	importer         *importer
	product, version string
}

// Options are what an API needs.
type Options struct {
	Shared             *web.Shared
	Resources          *resources.API
	Passwords          resources.Passwords
	Product, Version   string
	NoOperatorPolicies bool // operator policies may not be changed
}

// New returns an API.
func New(o Options) *API {
	s := &API{Shared: o.Shared, resources: o.Resources, product: o.Product, version: o.Version}
	s.importer = newImporter(o.Shared.Engine, o.Shared.Log, o.Passwords)
	s.importer.locked = o.NoOperatorPolicies
	return s
}

// Endpoints returns all endpoints of the package.
func (s *API) Endpoints() []web.Endpoint {
	return slices.Concat(s.definitionExportEndpoints(), s.definitionImportEndpoints())
}
