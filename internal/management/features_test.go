package management

import (
	"regexp"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestClusterHasAnID(t *testing.T) {
	// If this fails, tools that tell clusters apart by their ID find none, or take two clusters for one.
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		all := read[[]api.GlobalParameter](open(t), "/api/global-parameters")
		if len(all) != 1 || all[0].Name != "internal_cluster_id" || !regexp.MustCompile(`^"rabbitmq-cluster-id-[-_A-Za-z0-9]{22}"$`).Match(all[0].Value) {
			t.Fatalf("%+v", all)
		}
		seen[string(all[0].Value)] = true
	}
	if len(seen) != 2 {
		t.Errorf("two clusters have one ID: %v", seen)
	}
}

func TestDeprecatedFeaturesInUse(t *testing.T) {
	// If this fails, nobody is told before an upgrade that transient queues are in use, or is told of what is not.
	t.Parallel()
	d := open(t)
	used := func() []api.DeprecatedFeature {
		return read[[]api.DeprecatedFeature](d, "/api/deprecated-features/used")
	}
	d.queueWith("durable", "")
	if all := used(); len(all) != 0 {
		t.Errorf("without transient queues: %+v", all)
	}
	d.want(201, "PUT", "/api/queues/%2F/transient", `{"durable":false}`)
	if all := used(); len(all) != 1 || all[0].Name != "transient_nonexcl_queues" || all[0].Phase != "permitted_by_default" {
		t.Errorf("with a transient queue: %+v", all)
	}
	d.want(204, "DELETE", "/api/queues/%2F/transient", "")
	if all := used(); len(all) != 0 {
		t.Errorf("without it: %+v", all)
	}
}

func TestFeatureFlagsAreStableOrRequired(t *testing.T) {
	// If this fails, tools that ask which flags an operator may still enable are told that there are none of the newest
	// series.
	t.Parallel()
	want := map[string]string{"rabbitmq_4.0.0": "stable", "rabbitmq_4.1.0": "stable", "rabbitmq_4.2.0": "stable", "quorum_queue": "required", "stream_queue": "required"}
	for _, f := range read[[]api.FeatureFlag](open(t), "/api/feature-flags") {
		if s, told := want[f.Name]; told && f.Stability != s {
			t.Errorf("%s is %s, not %s", f.Name, f.Stability, s)
		}
	}
}
