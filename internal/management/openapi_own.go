package management

import "github.com/bartleby-mq/bartleby/internal/api"

// ownOperations are those below /api/x, which RabbitMQ does not have.
func ownOperations() []operation {
	all := []operation{
		{"GET x/openapi.json", "This document", nil, anything{}},
		{"GET x/session", "Who is logged in by the console's cookie, and the token that changes have to show; a null user if nobody is", nil, api.Session{}},
		{"POST x/session", "Opens a session: takes username and password as a form, sets the cookie", nil, api.Session{}},
		{"DELETE x/session", "Ends the session", nil, nil},
		{"GET x/events", "What changes, as server-sent events: topics=overview,queues,jobs,letters,alarms", nil, nil},
		{"GET x/audit", "Who changed what, newest first; after=ID and user=NAME narrow it", nil, api.List[api.Deed]{}},
		{"GET x/clock", "What the clocks of the node show", nil, api.Clock{}},
		{"POST x/clock/advance", "Moves the clock of a broker that was started with a test clock", api.ClockAdvance{}, api.Clock{}},
		{"POST x/clock/resync", "Lets virtual hosts that are ahead of the machine's clock wait for it", nil, api.Clock{}},
		{"GET x/log-level", "From which level lines of each category are logged", nil, anything{}},
		{"PUT x/log-level", "Sets that until the broker stops, of one category or all", api.LogLevel{}, nil},
		{"POST x/rotate-logs", "Puts the log's file aside and begins another", nil, nil},
		{"GET x/resource-limits", "From when on alarms hold publishers back", nil, api.ResourceLimits{}},
		{"PUT x/resource-limits", "Sets that until the broker stops", api.ResourceLimits{}, nil},
		{"GET x/storage", "What is on the disk, and how it is written", nil, api.Storage{}},
		{"GET x/health/checks/storage", "503 if a virtual host has stopped for damage", nil, api.Health{}},
		{"GET x/backup", "Everything as a tar file", nil, nil},
		{"POST x/backup", "Copies everything to a directory of the broker's machine", api.PostBackup{}, api.Backup{}},
		{"PUT x/queues/{vhost}/{queue}", "Declares a queue, its settings under names or as arguments", api.CreateQueue{}, nil},
		{"GET x/explain/queues/{vhost}/{queue}", "What a queue runs with: each setting's value, source and why", nil, api.Explanation{}},
		{"GET x/explain/exchanges/{vhost}/{exchange}", "The same for an exchange", nil, api.Explanation{}},
		{"GET x/topology/{vhost}", "Exchanges, queues and the ways between them; format=mermaid or dot for documents", nil, api.Topology{}},
		{"GET x/paths/{vhost}/{queue}", "Where a message of a queue goes on each event, with what is certain about it", nil, api.Paths{}},
		{"GET x/lint", "What will lose, delay or circulate messages, in all virtual hosts", nil, api.Lint{}},
		{"GET x/lint/{vhost}", "The same of one virtual host", nil, api.Lint{}},
		{"PUT x/dry-run/policies/{vhost}/{name}", "What setting a policy would match and change; nothing is changed", api.PutPolicy{}, api.PolicyTrial{}},
		{"DELETE x/dry-run/policies/{vhost}/{name}", "What clearing it would", nil, api.PolicyTrial{}},
		{"PUT x/dry-run/operator-policies/{vhost}/{name}", "What setting an operator policy would", api.PutPolicy{}, api.PolicyTrial{}},
		{"DELETE x/dry-run/operator-policies/{vhost}/{name}", "What clearing it would", nil, api.PolicyTrial{}},
		{"GET x/options/{vhost}", "The options of a virtual host that were set; effective=true shows all", nil, api.Arguments{}},
		{"PUT x/options/{vhost}", "Sets options of a virtual host", api.Arguments{}, nil},
		{"DELETE x/options/{vhost}/{option}", "Takes an option back", nil, nil},
		{"GET x/lost-letters", "How many lost letters virtual hosts keep", nil, api.List[api.Shelf]{}},
		{"GET x/lost-letters/{vhost}", "The lost letters of a virtual host, in portions", nil, api.LostLetters{}},
		{"DELETE x/lost-letters/{vhost}", "Discards them, or those of one cause", nil, api.Outcomes{}},
		{"POST x/lost-letters/{vhost}/republish", "Sends lost letters on", api.PostRepublish{}, api.Outcomes{}},
		{"GET x/lost-letters/{vhost}/{id}", "A lost letter with its content", nil, api.LostLetterContent{}},
		{"DELETE x/lost-letters/{vhost}/{id}", "Discards a lost letter", nil, nil},
		{"GET x/lost-letters/{vhost}/messages", "The lost letters as those of a queue are shown; filter, order, after, limit, payload", nil, api.Letters{}},
		{"GET x/lost-letters/{vhost}/messages/{id}", "One of them, whole; offset and limit show a part of its payload", nil, api.Letter{}},
		{"GET x/lost-letters/{vhost}/messages/{id}/payload", "Its payload as a file", nil, nil},
		{"GET x/queues/{vhost}/{queue}/messages", "The messages of a queue, whatever their state; filter, order, after, limit, payload", nil, api.Letters{}},
		{"GET x/queues/{vhost}/{queue}/messages/{id}", "One of them, whole; offset and limit show a part of its payload", nil, api.Letter{}},
		{"GET x/queues/{vhost}/{queue}/messages/{id}/payload", "Its payload as a file", nil, nil},
		{"GET x/held/{vhost}/{queue}", "The dead letters that a queue holds until their targets take them", nil, api.HeldLetters{}},
		{"GET x/scheduled", "What waits in delayed exchanges", nil, api.List[api.Schedule]{}},
		{"GET x/scheduled/{vhost}", "What waits in those of a virtual host, summed up", nil, api.Schedules{}},
		{"GET x/scheduled/{vhost}/{exchange}", "The messages that wait in a delayed exchange, in portions", nil, api.WaitingPage{}},
		{"DELETE x/scheduled/{vhost}/{exchange}", "Cancels all that wait in a delayed exchange", nil, api.Purged{}},
		{"PUT x/scheduled/{vhost}/{exchange}/key/{key}", "Schedules a message in the place of what waits under a key", api.PutScheduled{}, api.Published{}},
		{"POST x/scheduled/{vhost}/{exchange}/cancel", "Cancels scheduled messages", api.PostWaiting{}, api.Changed{}},
		{"POST x/scheduled/{vhost}/{exchange}/reschedule", "Gives scheduled messages another instant", api.PostReschedule{}, api.Changed{}},
		{"POST x/scheduled/{vhost}/{exchange}/fire", "Fires scheduled messages now", api.PostWaiting{}, api.Changed{}},
		{"GET x/waiting/{vhost}/{queue}", "The messages of a queue that wait for an instant", nil, api.WaitingPage{}},
		{"POST x/waiting/{vhost}/{queue}/retry", "Makes them ready now", api.PostRetry{}, api.Changed{}},
	}
	for _, by := range []struct{ path, words string }{{"{id}", "by its ID"}, {"key/{key}", "by its key"}} {
		at := "x/scheduled/{vhost}/{exchange}/" + by.path
		all = append(all,
			operation{"GET " + at, "A scheduled message, " + by.words, nil, api.Waiting{}},
			operation{"DELETE " + at, "Cancels a scheduled message, " + by.words, nil, api.WaitingOutcome{}},
			operation{"PATCH " + at, "Gives a scheduled message another instant, " + by.words, api.NewInstant{}, api.WaitingOutcome{}},
			operation{"POST " + at + "/fire", "Fires a scheduled message now, " + by.words, nil, api.WaitingOutcome{}},
		)
	}
	return all
}
