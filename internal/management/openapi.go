package management

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) openAPIEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{Pattern: "GET x/openapi.json", Tag: authz.Anybody, Serve: s.getOpenAPI, Summary: "This document", Out: anything{}},
	}
}

// getOpenAPI answers with a description of this API that programs read. Whoever writes a client needs no login for it.
// Source: ours; OpenAPI 3.1.
func (s *Server) getOpenAPI(*web.Request) (web.Answer, error) {
	text, err := s.openAPI()
	if err != nil {
		return web.Answer{}, err
	}
	return web.Answer{Status: http.StatusOK, Text: text.plain, Zipped: text.zipped}, nil
}

// openAPIText is the document as it is sent. It is made once: anybody may ask for it, as often as they like.
type openAPIText struct{ plain, zipped []byte }

func (s *Server) makeOpenAPI() (openAPIText, error) {
	text, err := web.Encode(s.document())
	if err != nil {
		return openAPIText{}, err
	}
	return openAPIText{text, web.Compress(text, gzip.BestCompression)}, nil
}

// document describes the endpoints.
func (s *Server) document() schema {
	all := schemas{}
	paths := schema{}
	for _, e := range s.endpoints() {
		path := e.Path()
		item, found := paths["/"+path].(schema)
		if !found {
			item = schema{}
			if parameters := inPath(path); parameters != nil {
				item["parameters"] = parameters
			}
			paths["/"+path] = item
		}
		item[strings.ToLower(e.Method())] = all.describe(&e)
	}
	all.of(reflect.TypeFor[api.Error]())
	all.of(reflect.TypeFor[api.DueCounts]())
	return schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": s.options.Product + " management API", "version": s.options.Version,
			"description": "RabbitMQ's management API as of " + api.RabbitMQVersion + ", and more below /x. A name in a path is one segment, " +
				"percent-encoded: the default virtual host is %2F, the default exchange amq.default.",
		},
		"servers":  []schema{{"url": s.options.PathPrefix + "/api"}},
		"security": []schema{{"password": []string{}}, {"secret": []string{}}},
		"paths":    paths,
		"components": schema{
			"schemas":    all,
			"parameters": listParameters(),
			"responses": schema{
				"Refused": schema{"description": "The request was refused, or failed", "content": jsonOf(ref("Error"))},
			},
			"securitySchemes": schema{
				"password": schema{"type": "http", "scheme": "basic"},
				"secret":   schema{"type": "http", "scheme": "bearer", "description": "the secret in the broker's data directory"},
			},
		},
	}
}

// inPath lists the names in a path; nil for none.
func inPath(path string) (all []schema) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			all = append(all, schema{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": kind("string")})
		}
	}
	return all
}

func jsonOf(s schema) schema { return schema{"application/json": schema{"schema": s}} }

// anything is a value of which nothing is said.
type anything = json.RawMessage

// describe is the description of one endpoint.
func (all schemas) describe(e *web.Endpoint) schema {
	d := schema{"summary": e.Summary, "operationId": operationID(e.Pattern), "tags": []string{strings.SplitN(e.Path(), "/", 2)[0]}}
	if e.Tag == authz.Anybody {
		d["security"] = []schema{}
	} else {
		d["x-required-tag"] = string(e.Tag)
	}
	if e.In != nil {
		d["requestBody"] = schema{"content": jsonOf(all.of(reflect.TypeOf(e.In)))}
	}
	responses := schema{"default": schema{"$ref": "#/components/responses/Refused"}}
	switch {
	case e.Out != nil:
		t := reflect.TypeOf(e.Out)
		responses[strconv.Itoa(http.StatusOK)] = schema{"description": "OK", "content": jsonOf(all.of(t))}
		if t.Kind() == reflect.Slice && t != reflect.TypeFor[api.Arguments]() && t != reflect.TypeFor[json.RawMessage]() {
			var query []schema
			for _, p := range listQueries() {
				query = append(query, schema{"$ref": "#/components/parameters/" + p.name})
			}
			d["parameters"] = query
		}
	case !e.Changes():
		responses[strconv.Itoa(http.StatusOK)] = schema{"description": "OK; the body is not JSON"}
	default:
		if e.Method() == http.MethodPut || e.Method() == http.MethodPost {
			responses[strconv.Itoa(http.StatusCreated)] = schema{"description": "Created"}
		}
		responses[strconv.Itoa(http.StatusNoContent)] = schema{"description": "Done"}
	}
	d["responses"] = responses
	return d
}

// operationID makes a name for generated code of a method and a path: getQueuesVhostQueue.
func operationID(at string) string {
	var b strings.Builder
	method, path, _ := strings.Cut(at, " ")
	b.WriteString(strings.ToLower(method))
	up := true
	for _, c := range path {
		switch {
		case c == '{' || c == '}':
		case c == '/' || c == '-' || c == '_' || c == '.':
			up = true
		case up && c >= 'a' && c <= 'z':
			b.WriteRune(c - 'a' + 'A')
			up = false
		default:
			b.WriteRune(c)
			up = false
		}
	}
	return b.String()
}

// A listQuery is a parameter that every list takes.
type listQuery struct {
	name, kind, words string
}

func listQueries() []listQuery {
	return []listQuery{
		{"page", "integer", "page number, from 1; the response becomes an object with items"},
		{"page_size", "integer", "items per page, at most 500; default 100"},
		{"name", "string", "substring of the name, or with use_regex=true an RE2 regular expression; only with page"},
		{"use_regex", "boolean", "name is a regular expression"},
		{"sort", "string", "the field to sort by, such as message_stats.publish_details.rate"},
		{"sort_reverse", "boolean", "sort in descending order"},
		{"columns", "string", "comma-separated list of fields to return"},
	}
}

func listParameters() schema {
	all := schema{}
	for _, p := range listQueries() {
		all[p.name] = schema{"name": p.name, "in": "query", "description": p.words, "schema": kind(p.kind)}
	}
	return all
}
