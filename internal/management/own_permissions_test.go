package management

import (
	"maps"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/api"
)

func TestOwnPermissions(t *testing.T) {
	// If this fails, the console offers what the broker then refuses, or hides what a user may do.
	t.Parallel()
	d := open(t)
	reader := d.operator("reader", "management,office-redrive", "", "^a|b$", ".*")
	own := read[api.OwnPermissions](reader, "/api/x/permissions/%2F")
	all := map[string]bool{"office-payload": true, "office-redrive": true, "office-discard": true, "office-edit": true}
	if own.VHost != "/" || own.Configure != "" || own.Write != "^a|b$" || own.Read != ".*" ||
		!maps.Equal(own.DeadLetters, all) {
		t.Errorf("%+v", own)
	}
	strict := d.with(func(o *Options) { o.StrictOffice = true }).as("reader:p")
	only := map[string]bool{"office-payload": false, "office-redrive": true, "office-discard": false, "office-edit": false}
	if own = read[api.OwnPermissions](strict, "/api/x/permissions/%2F"); !maps.Equal(own.DeadLetters, only) {
		t.Errorf("where rights are strict: %+v", own)
	}
	d.want(201, "PUT", "/api/vhosts/other", "")
	reader.want(404, "GET", "/api/x/permissions/other", "")
	d.want(201, "PUT", "/api/users/watch", `{"password":"p","tags":"monitoring"}`)
	own = read[api.OwnPermissions](d.as("watch:p"), "/api/x/permissions/other")
	if own.Configure+own.Write+own.Read != "" {
		t.Errorf("of a user who sees the virtual host, without permissions there: %+v", own)
	}
	if own = read[api.OwnPermissions](d, "/api/x/permissions/%2F"); own.Configure != ".*" || own.Read != ".*" {
		t.Errorf("of an administrator: %+v", own)
	}
}
