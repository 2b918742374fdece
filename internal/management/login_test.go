package management

import (
	"net/http/httptest"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func TestLoginOfAUserJustMade(t *testing.T) {
	// If this fails, a login that crosses the making of its user makes the server panic.
	t.Parallel()
	d := open(t)
	hr := httptest.NewRequest("GET", "/api/whoami", nil)
	hr.RemoteAddr = d.from
	r := &web.Request{Request: hr, Shared: d.server.Shared, View: d.engine.Accounts()}
	d.want(201, "PUT", "/api/users/new", `{"password":"p","tags":"management"}`)
	if err := d.server.logInAs(r, "new", "p", authz.Management); err != nil || r.Caller.Principal().User != "new" {
		t.Errorf("%v, %+v", err, r.Caller)
	}
}
