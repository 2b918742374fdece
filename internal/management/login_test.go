package management

import (
	"net/http/httptest"
	"testing"
)

func TestLoginOfAUserJustMade(t *testing.T) {
	// If this fails, a login that crosses the making of its user makes the server panic.
	t.Parallel()
	d := open(t)
	hr := httptest.NewRequest("GET", "/api/whoami", nil)
	hr.RemoteAddr = d.from
	r := &request{Request: hr, server: d.server, view: d.engine.Access()}
	d.want(201, "PUT", "/api/users/new", `{"password":"p","tags":"management"}`)
	if err := r.logInAs("new", "p", management); err != nil || r.caller.Principal().User != "new" {
		t.Errorf("%v, %+v", err, r.caller)
	}
}
