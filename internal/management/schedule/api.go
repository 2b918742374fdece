package schedule

import (
	"slices"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// Endpoints are the endpoints of scheduled messages and of those that wait.
func Endpoints() []web.Endpoint {
	return slices.Concat(scheduleEndpoints(), scheduleKeyEndpoints(), waitingEndpoints(), waitingChangeEndpoints())
}
