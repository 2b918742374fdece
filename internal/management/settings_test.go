package management

import (
	"slices"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

func TestSettingsAreDescribed(t *testing.T) {
	// If this fails, the console has no fields for settings, or a user with few rights gets an error instead of a form.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/users/few", `{"password":"few","tags":"management"}`)
	d.as("few:few").want(200, "GET", "/api/x/settings", "")
	all := read[[]api.SettingDescription](d, "/api/x/settings")
	if len(all) != len(settings.All()) {
		t.Fatalf("%d settings", len(all))
	}
	of := func(name string) api.SettingDescription {
		return all[slices.IndexFunc(all, func(s api.SettingDescription) bool { return s.Name == name })]
	}
	limit := of("delivery-limit")
	if limit.Argument != "x-delivery-limit" || limit.Kind != "number" || limit.Min != nil || limit.Wins != "smaller" ||
		limit.NoLimit != "negative" || limit.Option != "delivery-limit" || len(limit.SetBy) != 3 {
		t.Errorf("%+v", limit)
	}
	if s := of("delayed-retry-jitter"); s.Kind != "percentage" || *s.Min != 0 || *s.Max != 100 {
		t.Errorf("%+v", s)
	}
	s := of("alternate-exchange")
	if s.Argument != "" || s.AppliesTo != "exchanges" || s.Inert || s.SetBy[0] != "policy" {
		t.Errorf("%+v", s)
	}
	if s := of("overflow"); s.Choices[0] != "drop-head" || s.Wins != "operator policy" {
		t.Errorf("%+v", s)
	}
	if s := of("ha-mode"); !s.Inert || s.Choices == nil {
		t.Errorf("%+v", s)
	}
}
