// Package contrib has the files for Grafana and Prometheus that come with the broker.
package contrib

import "embed"

// files are what is imported elsewhere; the test of the rules is for this project only.
//
//go:embed grafana/*.json prometheus/bartleby.rules.yml
var files embed.FS

// Dashboard returns a dashboard for Grafana, and Rules alert rules for Prometheus, by the name of the file, such as
// bartleby-overview.json. The error is fs.ErrNotExist if there is none of that name, or it is no name.
func Dashboard(name string) ([]byte, error) { return files.ReadFile("grafana/" + name) }

// Rules returns a file of alert rules, see Dashboard.
func Rules(name string) ([]byte, error) { return files.ReadFile("prometheus/" + name) }
