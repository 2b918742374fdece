package resources

import (
	"math"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/management/web"
	"github.com/bartleby-mq/bartleby/internal/settings"
)

// getSettings lists what there is to set, for tools that ask users for it. Source: ours.
func getSettings(*web.Request) (web.Answer, error) { return web.OK(Settings()) }

// Settings describes all settings.
func Settings() api.List[api.SettingDescription] {
	all := settings.All()
	list := make(api.List[api.SettingDescription], len(all))
	for i := range all {
		list[i] = describe(&all[i])
	}
	return list
}

func describe(d *settings.Description) api.SettingDescription {
	s := api.SettingDescription{
		Name: d.Name, Argument: d.Argument, QueueType: d.Type, AppliesTo: "queues",
		Kind: string(d.Kind), Choices: d.Choices, Wins: d.Wins, NoLimit: d.None, Rule: d.Rule,
		Option: d.Option, Inert: d.Inert,
	}
	for _, source := range d.By {
		s.SetBy = append(s.SetBy, source.String())
	}
	if d.Exchanges {
		s.AppliesTo = "exchanges"
	}
	switch d.Kind {
	case settings.Number, settings.Bytes, settings.Duration, settings.Percentage:
		if d.Min != math.MinInt64 {
			s.Min = &d.Min
		}
		if d.Max != math.MaxInt64 {
			s.Max = &d.Max
		}
	}
	return s
}
