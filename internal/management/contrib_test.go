package management

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestContribFilesAreServed(t *testing.T) {
	// If this fails, a dashboard or an alert rule cannot be downloaded from a broker, is not as it is in contrib, or
	// has no link in the console.
	t.Parallel()
	d := open(t)
	d.want(201, "PUT", "/api/users/plain", `{"password":"p","tags":"management"}`)
	page, err := os.ReadFile("console/ui/pages/broker/monitoring.js")
	if err != nil {
		t.Fatal(err)
	}
	served := 0
	for _, c := range []struct{ files, path, media string }{
		{"grafana/*.json", "dashboards", "application/json"},
		{"prometheus/*.rules.yml", "alert-rules", "application/yaml"},
	} {
		files, err := filepath.Glob("../../contrib/" + c.files)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			served++
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			at := "/api/x/" + c.path + "/" + name
			w := d.send("GET", at, "", "Accept", "text/html,*/*;q=0.8")
			h := w.Header()
			if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), text) || h.Get("Content-Type") != c.media ||
				h.Get("Content-Disposition") != `attachment; filename="`+name+`"` {
				t.Errorf("%s: %d, %d bytes, %v", at, w.Code, w.Body.Len(), h)
			}
			if !bytes.Contains(page, []byte(name)) {
				t.Errorf("the console has no link to %s", name)
			}
			d.as("").want(401, "GET", at, "")
			d.as("plain:p").want(401, "GET", at, "")
		}
	}
	if served != 4 {
		t.Errorf("%d files", served)
	}
	for _, name := range []string{"none.json", "..", "..%2Fprometheus%2Fbartleby.rules.yml", "bartleby.rules.yml"} {
		d.refused(404, "not_found", "file_not_found", "GET", "/api/x/dashboards/"+name, "")
	}
	d.refused(404, "not_found", "file_not_found", "GET", "/api/x/alert-rules/bartleby.rules_test.yml", "")
}
