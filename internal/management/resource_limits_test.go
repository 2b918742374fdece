package management

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine/resource"
	"github.com/bartleby-mq/bartleby/internal/management/stats"
)

func TestResourceLimits(t *testing.T) {
	// If this fails, an operator cannot change what publishers are stopped for, or is not shown it.
	t.Parallel()
	d := open(t)
	const path = "/api/x/resource-limits"
	shown := func(want string) {
		t.Helper()
		if got := d.want(200, "GET", path, "").Body.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	shown(`{"vm_memory_high_watermark":{"relative":0.6},"disk_free_limit":{"absolute":50000000}}`)
	d.want(204, "PUT", path, `{"disk_free_limit":{"relative":1.5}}`)
	d.want(204, "PUT", path, `{"vm_memory_high_watermark":{"absolute":"200k"}}`)
	shown(`{"vm_memory_high_watermark":{"absolute":204800},"disk_free_limit":{"relative":1.5}}`)
	if n := read[api.Node](d, "/api/nodes/rabbit@test"); n.MemLimit != 204_800 || n.DiskFreeLimit != 1_500_000 || n.MemAlarm || n.DiskFreeAlarm ||
		n.MemUsed != 100_000 || n.DiskFree < 70_000_000 || n.DiskFree > 80_000_000 || // segments that are ready count as free
		n.MemStrategy != "rss" {
		t.Errorf("%+v", n)
	}
	d.want(204, "PUT", path, `{"vm_memory_high_watermark":{"relative":0.4},"disk_free_limit":{"absolute":60000000}}`)
	d.want(204, "PUT", path, `{}`)
	shown(`{"vm_memory_high_watermark":{"relative":0.4},"disk_free_limit":{"absolute":60000000}}`)
	for body, reason := range map[string]string{
		`{"vm_memory_high_watermark":{"relative":1.4}}`:                                 "a fraction between 0.0 and 1.0",
		`{"vm_memory_high_watermark":{"relative":0.4,"absolute":"1"}}`:                  "either relative or absolute",
		`{"vm_memory_high_watermark":{}}`:                                               "either relative or absolute",
		`{"disk_free_limit":{"absolute":"lots"}}`:                                       "is not a number of bytes",
		`{"disk_free_limit":{"absolute":-5}}`:                                           "is not a number of bytes",
		`{"disk_free":{"absolute":5}}`:                                                  "unknown field",
		`{"disk_free_limit":{"absolute":5},"vm_memory_high_watermark":{"relative":-1}}`: "a fraction",
	} {
		d.refused(400, "bad_request", reason, "PUT", path, body)
	}
	shown(`{"vm_memory_high_watermark":{"relative":0.4},"disk_free_limit":{"absolute":60000000}}`)
	d.want(201, "PUT", "/api/users/watcher", `{"password":"w","tags":"monitoring"}`)
	d.as("watcher:w").want(200, "GET", path, "")
	if w := d.as("watcher:w").send("PUT", path, `{}`); w.Code != http.StatusUnauthorized {
		t.Errorf("who only watches may change limits: %d", w.Code)
	}
}

func TestJournalAlarmIsADiskAlarm(t *testing.T) {
	// If this fails, who watches for RabbitMQ's alarms does not see that the log has no space.
	t.Parallel()
	var got []string
	for _, a := range raised(resource.LowMemory|resource.JournalFull, "n") {
		got = append(got, a.Node+" "+a.Resource)
	}
	if want := []string{"n memory", "n disk", "n journal"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAlarms(t *testing.T) {
	// If this fails, nobody sees why publishers wait: no health check, list or alert rule.
	t.Parallel()
	d := open(t)
	d.roster.mu.conns = []stats.Connection{{Name: "a", State: "running"}, {Name: "b", State: "blocked"}}
	metrics := func(want ...string) {
		t.Helper()
		text := d.want(200, "GET", "/metrics", "").Body.String()
		for _, line := range want {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("no line %s in\n%s", line, text)
			}
		}
	}
	metrics("rabbitmq_alarms_memory_used_watermark 0", "rabbitmq_alarms_free_disk_space_watermark 0", "rabbitmq_alarms_file_descriptor_limit 0",
		`bartleby_alarm{resource="journal"} 0`, "rabbitmq_process_resident_memory_bytes 100000", "rabbitmq_resident_memory_limit_bytes 600000",
		"rabbitmq_disk_space_available_limit_bytes 50000000",
		"bartleby_memory_available_bytes 1000000", "bartleby_connections_blocked 1",
		"bartleby_unfinished_message_bytes 1", "bartleby_unfinished_message_waiting 2", "bartleby_unfinished_message_ended_total 3", "bartleby_send_timeouts_total 4",
		"bartleby_delivery_windows_grown 0", "bartleby_delivery_windows_bytes 0",
		"bartleby_declared_objects_max_bytes 1073741824", "bartleby_declared_objects_refused_total 0",
		"bartleby_uncommitted_transaction_bytes 0", "bartleby_uncommitted_transaction_refused_total 0")
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"relative":0}}`)
	for _, check := range []string{"alarms", "local-alarms"} {
		got := d.want(503, "GET", "/api/health/checks/"+check, "").Body.String()
		if want := `{"status":"failed","reason":"There are alarms in effect in the cluster","alarms":[{"node":"rabbit@test","resource":"memory"}]}`; got != want {
			t.Errorf("%s: %s", check, got)
		}
	}
	d.want(204, "PUT", "/api/x/resource-limits", `{"disk_free_limit":{"absolute":"1GB"}}`)
	if got := d.want(503, "GET", "/api/health/checks/alarms", "").Body.String(); !strings.Contains(got, `[{"node":"rabbit@test","resource":"memory"},{"node":"rabbit@test","resource":"disk"}]`) {
		t.Error(got)
	}
	if n := read[[]api.Node](d, "/api/nodes"); !n[0].MemAlarm || !n[0].DiskFreeAlarm || n[0].JournalAlarm {
		t.Errorf("%+v", n[0])
	}
	metrics("rabbitmq_alarms_memory_used_watermark 1", "rabbitmq_alarms_free_disk_space_watermark 1",
		`bartleby_alarm{resource="memory"} 1`, `bartleby_alarm{resource="disk"} 1`, `bartleby_alarms_raised_total{resource="disk"} 1`)
	if got := read[[]api.Connection](d, "/api/connections"); got[0].State != "blocking" || got[1].State != "blocked" {
		t.Errorf("%+v", got)
	}
	d.want(204, "PUT", "/api/x/resource-limits", `{"vm_memory_high_watermark":{"relative":0.6},"disk_free_limit":{"absolute":0}}`)
	d.want(200, "GET", "/api/health/checks/alarms", "")
	metrics("rabbitmq_alarms_memory_used_watermark 0", `bartleby_alarms_raised_total{resource="memory"} 1`)
}
