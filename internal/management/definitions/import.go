package definitions

import (
	"cmp"
	"encoding/json"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *API) definitionImportEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "POST definitions", Tag: authz.Administrator, Serve: s.postDefinitions, Body: web.LargeBody, Scope: web.AllNodes,
			Summary: "Imports definitions; with ?dry_run=true only checks them", In: api.Definitions{},
		},
		{
			Pattern: "POST all-configuration", Tag: authz.Administrator, Serve: s.postDefinitions, Body: web.LargeBody, Scope: web.AllNodes,
			Summary: "Same as definitions", In: api.Definitions{},
		},
		{
			Pattern: "POST definitions/{vhost}", Tag: authz.Administrator, Serve: s.postVHostDefinitions, Body: web.LargeBody, Scope: web.Leader,
			Summary: "Imports definitions into a virtual host; with ?dry_run=true only checks them", In: api.VHostDefinitions{},
		},
	}
}

// postDefinitions imports definitions: users, permissions and policies are replaced, exchanges and queues that are
// there stay as they are, nothing is deleted. Source: RabbitMQ definitions; docs/compat/http-api.md#4.12.
func (s *API) postDefinitions(r *web.Request) (web.Answer, error) {
	var d api.Definitions
	if err := readUpload(r, &d); err != nil {
		return web.Answer{}, err
	}
	return s.importAll(r, &definitions{Definitions: d})
}

// postVHostDefinitions imports the definitions of one virtual host, whatever virtual host they name.
func (s *API) postVHostDefinitions(r *web.Request) (web.Answer, error) {
	if _, err := r.VHost(r.PathValue("vhost")); err != nil {
		return web.Answer{}, web.NotFound("vhost")
	}
	var d api.VHostDefinitions
	if err := readUpload(r, &d); err != nil {
		return web.Answer{}, err
	}
	return s.importAll(r, &definitions{VHost: r.PathValue("vhost"), Definitions: api.Definitions{DefinitionsOrigin: d.DefinitionsOrigin, VHostContents: d.VHostContents}})
}

func (s *API) importAll(r *web.Request, d *definitions) (web.Answer, error) {
	var err error
	if r.Detail, err = json.Marshal(d.counts()); err != nil {
		return web.Answer{}, err
	}
	if r.Flag("dry_run") {
		r.Unchanged = true
		err = s.importer.try(r.Context(), d)
	} else {
		err = s.importer.run(r.Context(), d, cmp.Or(r.URL.Path, "/"))
	}
	if err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}

// readUpload reads a body that is JSON, or a form with JSON in its part "file".
func readUpload(r *web.Request, into any) error {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return r.Read(into)
	}
	parts := multipart.NewReader(http.MaxBytesReader(nil, r.Body, r.BodyBytesMax), parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return web.BadRequest("the upload has no part 'file': %v", err)
		}
		if part.FormName() == "file" {
			r.Body = part
			return r.Read(into)
		}
	}
}
