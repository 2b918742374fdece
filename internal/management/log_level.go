package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/logging"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func (s *Server) logLevelEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/log-level", Tag: authz.Monitoring, Serve: s.getLogLevels,
			Summary: "Log levels by category", Out: anything{},
		},
		{
			Pattern: "PUT x/log-level", Tag: authz.Administrator, Serve: s.putLogLevel,
			Summary: "Sets the log level of one or all categories until the broker restarts", In: api.LogLevel{},
		},
		{Pattern: "POST x/rotate-logs", Tag: authz.Administrator, Serve: s.rotateLogs, Summary: "Rotates the log file"},
	}
}

// noBook is the answer of a broker that writes no log of its own: one inside another program.
func noBook() error {
	return &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "this broker does not manage its log"}
}

// getLogLevels shows from which level each category is written.
func (s *Server) getLogLevels(r *web.Request) (web.Answer, error) {
	book := s.options.Book
	if book == nil {
		return web.Answer{}, noBook()
	}
	levels := map[string]string{}
	for category, from := range book.Levels() {
		levels[category] = logging.LevelName(from)
	}
	return web.OK(levels)
}

// putLogLevel sets from which level lines are written until the broker stops: of one category, or all.
// Source: RabbitMQ cli, set_log_level.
func (s *Server) putLogLevel(r *web.Request) (web.Answer, error) {
	var body api.LogLevel
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("level", body.Level != "")); err != nil {
		return web.Answer{}, err
	}
	book := s.options.Book
	if book == nil {
		return web.Answer{}, noBook()
	}
	from, err := logging.ParseLevel(body.Level)
	if err == nil {
		err = book.SetLevel(body.Category, from)
	}
	if err != nil {
		return web.Answer{}, web.BadRequest("%s", err)
	}
	return web.NoContent()
}

// rotateLogs puts the log's file aside and begins another. Source: RabbitMQ cli, rotate_logs.
func (s *Server) rotateLogs(r *web.Request) (web.Answer, error) {
	book := s.options.Book
	if book == nil {
		return web.Answer{}, noBook()
	}
	if err := book.Rotate(); err != nil {
		return web.Answer{}, err
	}
	return web.NoContent()
}
