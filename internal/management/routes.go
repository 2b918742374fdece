package management

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/vhost"
)

const (
	get    = http.MethodGet
	puts   = http.MethodPut
	post   = http.MethodPost
	remove = http.MethodDelete
	patch  = http.MethodPatch
)

// atLength are the routes whose answers take long: they look through messages, or through all of a virtual host. They are worked
// on by turns while messages flow. What stops, changes or shows one thing is not among them: it is not to wait with searches.
// Those with a body take their turn themselves when they have read it: a redrive, an import and the dry run of a policy.
var atLength = []string{
	"GET x/letters", "GET x/letters/*", "GET x/letters/*/summary", "GET x/letters/*/groups", "GET x/letters/*/export",
	"GET x/queues/*/*/messages", "GET x/lost-letters", "GET x/lost-letters/*", "GET x/lost-letters/*/messages", "GET x/held/*/*",
	"GET x/waiting/*/*", "GET x/scheduled", "GET x/scheduled/*", "GET x/scheduled/*/*",
	"GET x/lint", "GET x/lint/*", "GET x/topology/*", "GET x/paths/*/*",
}

// largeBodies are the routes whose bodies are definitions, or messages.
var largeBodies = []string{
	"definitions", "definitions/*", "all-configuration", "exchanges/*/*/publish", "x/scheduled/*/*/key/*",
	"x/queues/*/*/messages/*/resend", "x/lost-letters/*/messages/*/resend",
}

// relieving are the routes whose bodies name what is to leave memory, or where it goes: they are served while a memory alarm holds.
var relieving = []string{"x/redrives/*", "x/lost-letters/*/republish", "users/bulk-delete"}

// bodyBound is how many bytes the body of a request to a route has at the most; a large one has as many as the operator allows.
func bodyBound(path string, large int64) int64 {
	switch {
	case slices.Contains(largeBodies, path):
		return large
	case strings.HasPrefix(path, "bindings/"):
		return min(bindingBytesMax, large)
	}
	return min(smallBytesMax, large)
}

// otherKinds are the paths whose answers are no JSON.
var otherKinds = []string{
	"config/effective", "x/backup", "x/events",
	"x/queues/*/*/messages/*/payload", "x/lost-letters/*/messages/*/payload", "x/letters/*/export",
}

// routes are all paths below /api, * standing for a name, with the tag that each asks for.
// Source: RabbitMQ management API; reference http-api 1.5, 3.
func routes() []route {
	return []route{
		{get, "version", anybody, getVersion},
		{get, "overview", management, getOverview},
		{get, "whoami", management, getWhoAmI},
		{get, "cluster-name", management, getClusterName},
		{puts, "cluster-name", administrator, putClusterName},
		{get, "nodes", monitoring, getNodes},
		{get, "nodes/*", monitoring, getNode},
		{get, "nodes/*/memory", monitoring, getNodeMemory},
		{get, "nodes/*/memory/relative", monitoring, getRelativeMemory},
		{get, "config/effective", administrator, getEffective},
		{remove, "reset", administrator, resetStatistics},
		{remove, "reset/*", administrator, resetStatistics},
		{post, "login", anybody, postLogin},
		{remove, "login", anybody, deleteLogin},
		{get, "extensions", management, getNone},
		{get, "feature-flags", management, getFeatureFlags},
		{puts, "feature-flags/*/enable", administrator, enableFeature},
		{get, "deprecated-features", management, getDeprecatedFeatures},
		{get, "deprecated-features/used", management, getUsedDeprecatedFeatures},
		{get, "auth/hash_password/*", administrator, hashPassword},
		{get, "auth/attempts/*", administrator, getAttempts},
		{remove, "auth/attempts/*", administrator, resetAttempts},
		{get, "auth/attempts/*/source", administrator, getAttemptSources},
		{remove, "auth/attempts/*/source", administrator, resetAttempts},
		{post, "rebalance/queues", administrator, func(*request) (answer, error) { return nothing() }},
		{get, "x/session", anybody, getSession},
		{post, "x/session", anybody, postSession},
		{remove, "x/session", anybody, deleteSession},
		{get, "x/events", management, getEvents},
		{get, "x/openapi.json", anybody, getOpenAPI},
		{get, "x/audit", administrator, getAudit},
		{get, "x/listeners", monitoring, getListenerState},
		{puts, "x/listeners", administrator, putListenerState},
		{get, "x/clock", monitoring, getClock},
		{post, "x/clock/advance", administrator, advanceClock},
		{post, "x/clock/resync", administrator, resyncClock},

		{get, "x/log-level", monitoring, getLogLevels},
		{puts, "x/log-level", administrator, putLogLevel},
		{post, "x/rotate-logs", administrator, rotateLogs},
		{get, "x/resource-limits", monitoring, getResourceLimits},
		{puts, "x/resource-limits", administrator, putResourceLimits},
		{get, "x/storage", monitoring, getStorage},
		{get, "x/health/checks/storage", management, checkStorage},
		{get, "x/backup", administrator, getBackup},
		{post, "x/backup", administrator, postBackup},
		{puts, "x/queues/*/*", management, createQueue},
		{get, "x/queues/*/*/deaths", management, getDeaths},
		{get, "x/explain/queues/*/*", management, explainQueue},
		{get, "x/explain/exchanges/*/*", management, explainExchange},
		{get, "x/topology/*", management, getTopology},
		{get, "x/paths/*/*", management, getPaths},
		{get, "x/lint", management, getLint},
		{get, "x/lint/*", management, getLint},
		{puts, "x/dry-run/policies/*/*", policymaker, tryPolicy},
		{remove, "x/dry-run/policies/*/*", policymaker, tryClearingPolicy},
		{puts, "x/dry-run/operator-policies/*/*", administrator, tryOperatorPolicy},
		{remove, "x/dry-run/operator-policies/*/*", administrator, tryClearingOperatorPolicy},
		{get, "x/options/*", management, getVHostOptions},
		{puts, "x/options/*", policymaker, putVHostOptions},
		{remove, "x/options/*/*", policymaker, deleteVHostOption},
		{get, "x/lost-letters", management, getShelves},
		{get, "x/lost-letters/*", management, getLostLetters},
		{remove, "x/lost-letters/*", policymaker, deleteLostLetters},
		{post, "x/lost-letters/*/republish", policymaker, republishLostLetters},
		{get, "x/lost-letters/*/*", management, getLostLetter},
		{remove, "x/lost-letters/*/*", policymaker, deleteLostLetter},
		{get, "x/lost-letters/*/messages", management, onShelf(browse)},
		{get, "x/lost-letters/*/messages/*", management, onShelf(showLetter)},
		{get, "x/lost-letters/*/messages/*/payload", management, onShelf(downloadPayload)},
		{get, "x/queues/*/*/messages", management, atQueue(browse)},
		{get, "x/queues/*/*/messages/*", management, atQueue(showLetter)},
		{get, "x/queues/*/*/messages/*/payload", management, atQueue(downloadPayload)},
		{get, "x/letters", management, getSummaries},
		{get, "x/letters/*", management, searchLetters},
		{get, "x/letters/*/summary", management, getSummary},
		{get, "x/letters/*/groups", management, groupLetters},
		{get, "x/letters/*/export", management, exportLetters},
		{post, "x/letters/*/import", management, importLetters},
		{post, "x/queues/*/*/messages/*/resend", management, atQueue(resend)},
		{post, "x/lost-letters/*/messages/*/resend", management, onShelf(resend)},
		{get, "x/index", monitoring, getIndex},
		{post, "x/index/*/rebuild", administrator, rebuildIndex},
		{get, "x/redrives/*", management, getRedrives},
		{post, "x/redrives/*", management, postRedrive},
		{get, "x/redrives/*/*", management, getRedrive},
		{patch, "x/redrives/*/*", management, patchRedrive},
		{remove, "x/redrives/*/*", management, changeJob(vhost.JobForget)},
		{post, "x/redrives/*/*/pause", management, changeJob(vhost.JobPause)},
		{post, "x/redrives/*/*/resume", management, changeJob(vhost.JobResume)},
		{post, "x/redrives/*/*/cancel", management, changeJob(vhost.JobCancel)},
		{get, "x/notes/*", management, getNotes},
		{get, "x/notes/*/*", management, getNote},
		{puts, "x/notes/*/*", management, putNote},
		{get, "x/notes/*/*/*", management, getNote},
		{puts, "x/notes/*/*/*", management, putNote},
		{get, "x/held/*/*", management, getHeldLetters},
		{get, "x/scheduled", management, getSchedules},
		{get, "x/scheduled/*", management, getVHostSchedules},
		{get, "x/scheduled/*/*", management, getScheduled},
		{remove, "x/scheduled/*/*", management, purgeSchedule},
		{post, "x/scheduled/*/*/cancel", management, cancelScheduled},
		{post, "x/scheduled/*/*/reschedule", management, rescheduleScheduled},
		{post, "x/scheduled/*/*/fire", management, fireScheduled},
		{get, "x/scheduled/*/*/*", management, showOne(byID)},
		{remove, "x/scheduled/*/*/*", management, cancelOne(byID)},
		{patch, "x/scheduled/*/*/*", management, rescheduleOne(byID)},
		{post, "x/scheduled/*/*/*/fire", management, fireOne(byID)},
		{get, "x/scheduled/*/*/key/*", management, showOne(byKey)},
		{puts, "x/scheduled/*/*/key/*", management, putScheduled},
		{remove, "x/scheduled/*/*/key/*", management, cancelOne(byKey)},
		{patch, "x/scheduled/*/*/key/*", management, rescheduleOne(byKey)},
		{post, "x/scheduled/*/*/key/*/fire", management, fireOne(byKey)},
		{get, "x/waiting/*/*", management, getWaiting},
		{post, "x/waiting/*/*/retry", management, retryWaiting},

		{get, "health/checks/alarms", management, checkAlarms},
		{get, "health/checks/local-alarms", management, checkAlarms},
		{get, "health/checks/port-listener/*", management, checkPort},
		{get, "health/checks/protocol-listener/*", management, checkProtocols},
		{get, "health/checks/virtual-hosts", management, checkVHosts},
		{get, "health/checks/node-is-quorum-critical", management, checkQuorumCritical},
		{get, "health/checks/is-in-service", anybody, checkServing},
		{get, "health/checks/ready-to-serve-clients", anybody, checkServing},
		{get, "health/checks/below-node-connection-limit", anybody, checkConnections},
		{get, "health/checks/reached-target-cluster-size", anybody, checkClusterSize},
		{get, "health/checks/certificate-expiration/*/*", management, checkCertificates},
		{get, "health/checks/metadata-store/initialized", management, checkHealthy},
		{get, "health/checks/metadata-store/initialized/with-data", management, checkHealthy},
		{get, "health/checks/quorum-queues-without-elected-leaders/all-vhosts", management, checkAllLeaders},
		{get, "health/checks/quorum-queues-without-elected-leaders/all-vhosts/pattern/*", management, checkAllLeaders},
		{get, "health/checks/quorum-queues-without-elected-leaders/vhost/*", management, checkVHostLeaders},
		{get, "health/checks/quorum-queues-without-elected-leaders/vhost/*/pattern/*", management, checkVHostLeaders},
		{get, "healthchecks/node", management, checkNode},
		{get, "healthchecks/node/*", management, checkNode},
		{get, "aliveness-test/*", management, checkAlive},

		{get, "vhosts", management, getVHosts},
		{get, "vhosts/*", management, getVHost},
		{puts, "vhosts/*", administrator, putVHost},
		{remove, "vhosts/*", administrator, deleteVHost},
		{post, "vhosts/*/deletion/protection", administrator, protectVHost},
		{remove, "vhosts/*/deletion/protection", administrator, unprotectVHost},
		{post, "vhosts/*/start/*", administrator, startVHost},
		{get, "vhosts/*/permissions", administrator, getVHostPermissions},
		{get, "vhosts/*/topic-permissions", administrator, getVHostTopicPermissions},
		{get, "vhosts/*/connections", management, getConnections},
		{get, "vhosts/*/channels", management, getVHostChannels},
		{get, "vhost-limits", management, getVHostLimits},
		{get, "vhost-limits/*", management, getVHostLimits},
		{puts, "vhost-limits/*/*", administrator, putVHostLimit},
		{remove, "vhost-limits/*/*", administrator, deleteVHostLimit},

		{get, "users", administrator, getUsers},
		{get, "users/without-permissions", administrator, getUsersWithoutPermissions},
		{post, "users/bulk-delete", administrator, bulkDeleteUsers},
		{get, "users/*", administrator, getUser},
		{puts, "users/*", administrator, putUser},
		{remove, "users/*", administrator, deleteUser},
		{get, "users/*/permissions", administrator, getUserPermissions},
		{get, "users/*/topic-permissions", administrator, getUserTopicPermissions},
		{get, "users/*/queues", administrator, getUserQueues},
		{get, "user-limits", management, getUserLimits},
		{get, "user-limits/*", management, getUserLimits},
		{puts, "user-limits/*/*", administrator, putUserLimit},
		{remove, "user-limits/*/*", administrator, deleteUserLimit},

		{get, "permissions", administrator, getPermissions},
		{get, "permissions/*/*", administrator, getPermission},
		{puts, "permissions/*/*", administrator, putPermission},
		{remove, "permissions/*/*", administrator, deletePermission},
		{get, "topic-permissions", administrator, getTopicPermissions},
		{get, "topic-permissions/*/*", administrator, getTopicPermission},
		{puts, "topic-permissions/*/*", administrator, putTopicPermission},
		{remove, "topic-permissions/*/*", administrator, deleteTopicPermission},
		{remove, "topic-permissions/*/*/*", administrator, deleteTopicPermission},

		{get, "policies", management, getPolicies},
		{get, "policies/*", management, getPolicies},
		{get, "policies/*/*", policymaker, getPolicy},
		{puts, "policies/*/*", policymaker, putPolicy},
		{remove, "policies/*/*", policymaker, deletePolicy},
		{get, "operator-policies", management, getOperatorPolicies},
		{get, "operator-policies/*", management, getOperatorPolicies},
		{get, "operator-policies/*/*", administrator, getOperatorPolicy},
		{puts, "operator-policies/*/*", administrator, putOperatorPolicy},
		{remove, "operator-policies/*/*", administrator, deleteOperatorPolicy},
		{get, "parameters", policymaker, getParameters},
		{get, "parameters/*", policymaker, getParameters},
		{get, "parameters/*/*", policymaker, getParameters},
		{get, "parameters/*/*/*", policymaker, getParameter},
		{puts, "parameters/*/*/*", policymaker, putParameter},
		{remove, "parameters/*/*/*", policymaker, deleteParameter},
		{get, "global-parameters", policymaker, getGlobalParameters},
		{get, "global-parameters/*", policymaker, getGlobalParameter},
		{puts, "global-parameters/*", policymaker, putGlobalParameter},
		{remove, "global-parameters/*", policymaker, deleteGlobalParameter},

		{get, "definitions", administrator, getDefinitions},
		{post, "definitions", administrator, postDefinitions},
		{get, "all-configuration", administrator, getDefinitions},
		{post, "all-configuration", administrator, postDefinitions},
		{get, "definitions/*", administrator, getVHostDefinitions},
		{post, "definitions/*", administrator, postVHostDefinitions},

		{get, "queues", management, getQueues},
		{get, "queues/detailed", management, getQueues},
		{get, "queues/*", management, getQueues},
		{get, "queues/*/*", management, getQueue},
		{puts, "queues/*/*", management, putQueue},
		{remove, "queues/*/*", management, deleteQueue},
		{get, "queues/*/*/bindings", management, getQueueBindings},
		{remove, "queues/*/*/contents", management, purgeQueue},
		{post, "queues/*/*/get", management, takeMessages},
		{post, "queues/*/*/actions", management, actOnQueue},
		{get, "queues/quorum/*/*/status", monitoring, getReplicas},
		{post, "queues/quorum/*/*/replicas/add", administrator, addReplica},
		{remove, "queues/quorum/*/*/replicas/delete", administrator, deleteReplica},
		{post, "queues/quorum/replicas/on/*/grow", administrator, growReplicas},
		{remove, "queues/quorum/replicas/on/*/shrink", administrator, shrinkReplicas},

		{get, "exchanges", management, getExchanges},
		{get, "exchanges/*", management, getExchanges},
		{get, "exchanges/*/*", management, getExchange},
		{puts, "exchanges/*/*", management, putExchange},
		{remove, "exchanges/*/*", management, deleteExchange},
		{get, "exchanges/*/*/bindings/source", management, getBindingsFrom},
		{get, "exchanges/*/*/bindings/destination", management, getBindingsTo},
		{post, "exchanges/*/*/publish", management, publish},

		{get, "bindings", management, getBindings},
		{get, "bindings/*", management, getBindings},
		{get, "bindings/*/e/*/q/*", management, betweenQueue(getBetween)},
		{post, "bindings/*/e/*/q/*", management, betweenQueue(postBetween)},
		{get, "bindings/*/e/*/q/*/*", management, betweenQueue(getBinding)},
		{remove, "bindings/*/e/*/q/*/*", management, betweenQueue(deleteBinding)},
		{get, "bindings/*/e/*/e/*", management, betweenExchange(getBetween)},
		{post, "bindings/*/e/*/e/*", management, betweenExchange(postBetween)},
		{get, "bindings/*/e/*/e/*/*", management, betweenExchange(getBinding)},
		{remove, "bindings/*/e/*/e/*/*", management, betweenExchange(deleteBinding)},

		{get, "connections", management, getConnections},
		{get, "connections/*", management, getConnection},
		{remove, "connections/*", management, deleteConnection},
		{get, "connections/username/*", management, getUserConnections},
		{remove, "connections/username/*", management, deleteUserConnections},
		{get, "connections/*/channels", management, getConnectionChannels},
		{get, "channels", management, getChannels},
		{get, "channels/*", management, getChannel},
		{get, "consumers", management, getConsumers},
		{get, "consumers/*", management, getConsumers},

		{get, "federation-links", monitoring, getNone},
		{get, "federation-links/*", monitoring, getNone},
		{get, "shovels", monitoring, getNone},
		{get, "shovels/*", monitoring, getNone},
		{get, "shovels/vhost/*/*", monitoring, getNone},
	}
}
