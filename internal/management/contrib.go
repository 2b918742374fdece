package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/contrib"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func contribEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/dashboards/{file}", Tag: authz.Monitoring, Serve: file(contrib.Dashboard, "application/json"),
			Summary: "A dashboard for Grafana, such as bartleby-overview.json", Out: anything{},
		},
		{
			Pattern: "GET x/alert-rules/{file}", Tag: authz.Monitoring, Serve: file(contrib.Rules, "application/yaml"), Media: "application/yaml",
			Summary: "Alert rules for Prometheus: bartleby.rules.yml",
		},
	}
}

// file serves files that come with the broker, of one media type. Source: ours; RFC 9512 for YAML.
func file(read func(name string) ([]byte, error), media string) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		name := r.PathValue("file")
		text, err := read(name)
		if err != nil {
			return web.Answer{}, web.NotFound("file")
		}
		return web.Answer{Status: http.StatusOK, Text: text, Header: http.Header{
			"Content-Type":           {media},
			"Content-Disposition":    {`attachment; filename="` + name + `"`}, // it is that of a file
			"X-Content-Type-Options": {"nosniff"},
		}}, nil
	}
}
