package management

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// getOpenAPI answers with a description of this API that programs read. Whoever writes a client needs no login for it.
// Source: ours; OpenAPI 3.1.
func getOpenAPI(r *request) (answer, error) {
	text, err := encode(r.server.document())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, text: text}, nil
}

// document describes the routes that are served.
func (s *Server) document() schema {
	all := schemas{}
	paths := schema{}
	described := map[string]operation{}
	for _, o := range operations() {
		described[routeOf(o.at)] = o
	}
	for _, r := range routes() {
		o, known := described[r.method+" "+r.path]
		if !known {
			continue
		}
		_, path, _ := strings.Cut(o.at, " ")
		item, found := paths["/"+path].(schema)
		if !found {
			item = schema{}
			if parameters := inPath(path); parameters != nil {
				item["parameters"] = parameters
			}
			paths["/"+path] = item
		}
		item[strings.ToLower(r.method)] = all.describe(r, &o)
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
				"Refused": schema{"description": "Refused, or failed", "content": jsonOf(ref("Error"))},
			},
			"securitySchemes": schema{
				"password": schema{"type": "http", "scheme": "basic"},
				"secret":   schema{"type": "http", "scheme": "bearer", "description": "the secret in the broker's data directory"},
			},
		},
	}
}

// routeOf turns GET queues/{vhost} into GET queues/*.
func routeOf(at string) string {
	segments := strings.Split(at, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
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

// describe is the description of one route.
func (all schemas) describe(r route, o *operation) schema {
	d := schema{"summary": o.summary, "operationId": operationID(o.at), "tags": []string{strings.SplitN(r.path, "/", 2)[0]}}
	if r.need == anybody {
		d["security"] = []schema{}
	} else {
		d["x-required-tag"] = string(r.need)
	}
	if o.in != nil {
		d["requestBody"] = schema{"content": jsonOf(all.of(reflect.TypeOf(o.in)))}
	}
	responses := schema{"default": schema{"$ref": "#/components/responses/Refused"}}
	switch {
	case o.out != nil:
		t := reflect.TypeOf(o.out)
		responses[strconv.Itoa(http.StatusOK)] = schema{"description": "OK", "content": jsonOf(all.of(t))}
		if t.Kind() == reflect.Slice && t != reflect.TypeFor[api.Arguments]() && t != reflect.TypeFor[json.RawMessage]() {
			var query []schema
			for _, p := range listQueries() {
				query = append(query, schema{"$ref": "#/components/parameters/" + p.name})
			}
			d["parameters"] = query
		}
	case r.method == get:
		responses[strconv.Itoa(http.StatusOK)] = schema{"description": "OK, not as JSON"}
	default:
		if r.method == puts || r.method == post {
			responses[strconv.Itoa(http.StatusCreated)] = schema{"description": "Made"}
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
		{"sort_reverse", "boolean", "the greatest first"},
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
