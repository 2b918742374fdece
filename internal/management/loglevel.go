package management

import (
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/logbook"
)

// noBook is the answer of a broker that writes no log of its own: one inside another program.
func noBook() error {
	return &api.Error{Status: http.StatusNotFound, Kind: "not_found", Reason: "this broker does not manage its log"}
}

// getLogLevels shows from which level each category is written.
func getLogLevels(r *request) (answer, error) {
	book := r.server.options.Book
	if book == nil {
		return answer{}, noBook()
	}
	levels := map[string]string{}
	for category, from := range book.Levels() {
		levels[category] = logbook.LevelName(from)
	}
	return ok(levels)
}

// putLogLevel sets from which level lines are written until the broker stops: of one category, or all.
// Source: RabbitMQ cli, set_log_level.
func putLogLevel(r *request) (answer, error) {
	var body api.LogLevel
	if err := r.read(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"level", body.Level != ""}); err != nil {
		return answer{}, err
	}
	book := r.server.options.Book
	if book == nil {
		return answer{}, noBook()
	}
	from, err := logbook.ParseLevel(body.Level)
	if err == nil {
		err = book.SetLevel(body.Category, from)
	}
	if err != nil {
		return answer{}, badRequest("%s", err)
	}
	return nothing()
}

// rotateLogs puts the log's file aside and begins another. Source: RabbitMQ cli, rotate_logs.
func rotateLogs(r *request) (answer, error) {
	book := r.server.options.Book
	if book == nil {
		return answer{}, noBook()
	}
	if err := book.Rotate(); err != nil {
		return answer{}, err
	}
	return nothing()
}
