package management

import (
	"cmp"
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// wrapped is the handler of an endpoint behind what its declaration asks for: sign-in, the media type, a task, the
// audit log.
func (s *Server) wrapped(e *web.Endpoint) web.Handler {
	serve := s.audited(e, e.Serve)
	serve = s.sameOrigin(serve)
	if e.Slow {
		serve = asTask(serve)
	}
	if e.Media == "" {
		serve = asJSON(serve)
	}
	switch {
	case e.Tag != authz.Anybody:
		return s.signedIn(e.Tag, serve)
	case e.Changes():
		return serve // it reads a body, which may be slow to come
	}
	return s.amongStrangers(serve)
}

// strangersAtOnce is how many requests that need no login, and change nothing, are served at a time: they are short,
// and whoever sends very many of them leaves the other processor cores to users.
const strangersAtOnce = 1

// amongStrangers serves clients without a login, in the order in which their requests came.
func (s *Server) amongStrangers(serve web.Handler) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		select {
		case s.strangers <- struct{}{}:
		case <-r.Context().Done():
			return web.Answer{}, r.Context().Err()
		}
		defer func() { <-s.strangers }()
		return serve(r)
	}
}

// signedIn serves users with a tag.
func (s *Server) signedIn(tag authz.Tag, serve web.Handler) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if err := s.logIn(r, tag); err != nil {
			return web.Answer{}, err
		}
		s.options.LoggedIn(r.Request)
		return serve(r)
	}
}

// asJSON serves clients that accept JSON.
func asJSON(serve web.Handler) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if !web.AcceptsJSON(r.Header.Values("Accept")) {
			return web.Answer{Status: http.StatusNotAcceptable}, nil
		}
		return serve(r)
	}
}

// asTask serves requests that take long as tasks, see web.Request.BeginTask.
func asTask(serve web.Handler) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if err := r.BeginTask(); err != nil {
			return web.Answer{}, err
		}
		return serve(r)
	}
}

// sameOrigin refuses changes that a page of another origin has a browser send.
func (s *Server) sameOrigin(serve web.Handler) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if err := s.origins.Check(r.Request); err != nil {
			return web.Answer{}, web.Forbidden("cross-origin request refused: %v", err)
		}
		return serve(r)
	}
}

// audited writes to the audit log what an endpoint changed, before the request is answered, also if it failed half-way.
// A refusal has changed nothing.
func (s *Server) audited(e *web.Endpoint, serve web.Handler) web.Handler {
	switch {
	case e.Audit == web.AuditBefore:
		return s.auditedBefore(e.Method(), serve)
	case !e.Changes(), e.Audit == web.Unaudited:
		return serve
	}
	return func(r *web.Request) (web.Answer, error) {
		body := &recordedBody{ReadCloser: r.Body}
		r.Body = body
		before := r.View.Version()
		a, err := serve(r)
		status := cmp.Or(a.Status, http.StatusOK) // sent already
		if err != nil {
			if status = web.Refusal(err).Status; status < http.StatusInternalServerError {
				return a, err
			}
		}
		if status < http.StatusInternalServerError && changedNothing(r, before) {
			return a, err
		}
		detail := r.Detail
		if detail == nil {
			detail = body.detail()
		}
		if failed := s.note(r, status, detail); failed != nil {
			return web.Answer{}, failed
		}
		return a, err
	}
}

// auditedBefore writes to the audit log before it serves a method; HEAD, which sends nothing, leaves no record.
func (s *Server) auditedBefore(method string, serve web.Handler) web.Handler {
	return func(r *web.Request) (web.Answer, error) {
		if r.Method == method {
			if err := s.note(r, http.StatusOK, nil); err != nil {
				return web.Answer{}, err
			}
		}
		return serve(r)
	}
}
