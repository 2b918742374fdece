package management

import (
	"cmp"
	"encoding/json"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// postDefinitions imports definitions: users, permissions and policies are replaced, exchanges and queues that are
// there stay as they are, nothing is deleted. Source: RabbitMQ definitions; reference http-api 4.12.
func postDefinitions(r *request) (answer, error) {
	var d api.Definitions
	if err := r.readUpload(&d); err != nil {
		return answer{}, err
	}
	return r.importAll(&definitions{Definitions: d})
}

// postVHostDefinitions imports the definitions of one virtual host, whatever virtual host they name.
func postVHostDefinitions(r *request) (answer, error) {
	if _, err := r.vhost(r.names[0]); err != nil {
		return answer{}, notFound("vhost")
	}
	var d api.VHostDefinitions
	if err := r.readUpload(&d); err != nil {
		return answer{}, err
	}
	return r.importAll(&definitions{VHost: r.names[0], Definitions: api.Definitions{DefinitionsOrigin: d.DefinitionsOrigin, VHostContents: d.VHostContents}})
}

func (r *request) importAll(d *definitions) (answer, error) {
	var err error
	if r.detail, err = json.Marshal(d.counts()); err != nil {
		return answer{}, err
	}
	if err := r.server.importer.run(r.Context(), d, cmp.Or(r.URL.Path, "/")); err != nil {
		return answer{}, err
	}
	return nothing()
}

// readUpload reads a body that is JSON, or a form with JSON in its part "file".
func (r *request) readUpload(into any) error {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return r.read(into)
	}
	parts := multipart.NewReader(http.MaxBytesReader(nil, r.Body, r.server.options.BodyBytesMax), parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return badRequest("the upload has no part 'file': %v", err)
		}
		if part.FormName() == "file" {
			r.Body = part
			return r.read(into)
		}
	}
}
