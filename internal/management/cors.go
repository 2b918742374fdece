package management

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS says which pages of other origins a browser may let read answers. The zero value lets none.
// Source: RabbitMQ management.cors.
type CORS struct {
	AllowOrigins []string      // as browsers send them, such as https://console.example; "*" is any, but without credentials
	MaxAge       time.Duration // for how long a browser need not ask again; zero: 30 minutes
}

// corsMaxAgeUsual is MaxAge where none is set. Source: RabbitMQ management.cors.max_age.
const corsMaxAgeUsual = 30 * time.Minute

// grant is the origin to name in the answer to a page of the given one, "" if it may not read it.
func (c *CORS) grant(origin string) string {
	switch {
	case origin == "" || origin == "null":
		return ""
	case slices.Contains(c.AllowOrigins, origin):
		return origin
	case slices.Contains(c.AllowOrigins, "*"):
		return "*"
	}
	return ""
}

// allow tells a browser whether the page that asked may read the answer. It is told of refusals, too: a console has
// to show why it was refused.
func (c *CORS) allow(to http.Header, hr *http.Request) {
	origin := c.grant(hr.Header.Get("Origin"))
	if origin == "" {
		return
	}
	to.Set("Access-Control-Allow-Origin", origin)
	if origin != "*" {
		to.Set("Access-Control-Allow-Credentials", "true")
	}
}

// protection refuses changes that a page of another origin has a browser send, with the password that it remembers for
// this broker: a plain form may, whatever CORS says. Pages that may read may also change. Clients that are no browsers
// say nothing of origins and pass.
func (c *CORS) protection() *http.CrossOriginProtection {
	p := http.NewCrossOriginProtection()
	for _, origin := range c.AllowOrigins {
		if origin == "*" {
			p.AddInsecureBypassPattern("/")
		} else if err := p.AddTrustedOrigin(origin); err != nil {
			continue // no browser sends such an origin
		}
	}
	return p
}

// preflight answers what a browser asks before it sends what pages of other origins may not send unasked.
func (c *CORS) preflight(to http.Header, hr *http.Request, methods string) {
	if to.Get("Access-Control-Allow-Origin") == "" {
		return
	}
	to.Set("Access-Control-Max-Age", strconv.FormatInt(int64(c.MaxAge/time.Second), 10))
	to.Set("Access-Control-Allow-Methods", methods)
	if asked := hr.Header.Values("Access-Control-Request-Headers"); len(asked) > 0 {
		to.Set("Access-Control-Allow-Headers", strings.Join(asked, ", "))
	}
}
