package console

import (
	"embed"
	"html"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// consoleFiles are the web console as people write it: what is served is what is read here.
//
//go:embed ui/index.html ui/favicon.svg ui/css ui/i18n ui/lib ui/pages ui/vendor
var consoleFiles embed.FS

// Policy is what a browser may do with a page of the console: run and show what comes from here, nothing that is
// written into a page, and not within somebody else's.
const Policy = "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// A Console serves the pages for browsers. Its files are prepared when somebody asks for the first of them: a broker
// that starts has more urgent work.
type Console struct {
	prefix string // before the paths of the pages
	log    *slog.Logger
	files  func() *servedFiles
}

// New returns a console behind a path prefix.
func New(prefix string, log *slog.Logger) *Console {
	c := &Console{prefix: prefix, log: log}
	c.files = sync.OnceValue(c.open)
	return c
}

// servedFiles are the files as they are sent. They are in memory, compressed once; they do not change.
type servedFiles struct {
	index  *asset            // nil: the files are wrong
	assets map[string]*asset // by path below the prefix
}

// prepare reads the files for a broker behind a path prefix.
func prepare(prefix string) (*servedFiles, error) {
	files, err := readConsole(consoleFiles)
	if err != nil {
		return nil, err
	}
	root := "/assets/" + files.digest()
	c := &servedFiles{assets: map[string]*asset{}}
	for name, text := range files {
		if name != indexName {
			c.assets[root+"/"+name] = newAsset(name, text)
		}
	}
	c.assets["/favicon.ico"] = c.assets[root+"/favicon.svg"]
	c.index = newAsset(indexName, files.page(html.EscapeString(prefix), root))
	return c, nil
}

// open prepares the files.
func (s *Console) open() *servedFiles {
	files, err := prepare(s.prefix)
	if err != nil {
		s.log.Error("the web console is not available: its files are invalid", "error", err) // tests hold them right
		return &servedFiles{}
	}
	return files
}

// Serve answers what browsers ask for, and reports whether it was that: everything beside the API that is a file
// of the console, and every other path of which a page is wanted, since the console finds its own way from the address.
func (s *Console) Serve(w http.ResponseWriter, hr *http.Request) bool {
	if hr.Method != http.MethodGet && hr.Method != http.MethodHead {
		return false
	}
	below, ok := strings.CutPrefix(hr.URL.EscapedPath(), s.prefix)
	switch {
	case !ok || below != "" && below[0] != '/':
		return false
	case below == "":
		w.Header().Set("Cache-Control", "no-cache")
		http.Redirect(w, hr, s.prefix+"/", http.StatusMovedPermanently)
		return true
	case below == "/api" || strings.HasPrefix(below, "/api/") || strings.HasPrefix(below, "/cli/"):
		return false
	}
	files := s.files()
	if a, ok := files.assets[below]; ok {
		s.sendAsset(w, hr, a, strings.HasPrefix(below, "/assets/"))
		return true
	}
	if files.index == nil {
		http.Error(w, "the web console is not available: its files are invalid; see the log", http.StatusServiceUnavailable)
		return true
	}
	if path.Ext(below) != "" && strings.HasPrefix(below, "/assets/") || below != "/" && !acceptsPages(hr.Header.Values("Accept")) {
		return false
	}
	s.sendAsset(w, hr, files.index, false)
	return true
}

// sendAsset sends a file; one whose path changes with its content need never be asked for again.
func (s *Console) sendAsset(w http.ResponseWriter, hr *http.Request, a *asset, forever bool) {
	h := w.Header()
	if h.Get("Content-Security-Policy") == APIPolicy { // nobody configured another one
		h.Set("Content-Security-Policy", Policy)
	}
	for name, value := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin",
	} {
		if h.Get(name) == "" {
			h.Set(name, value)
		}
	}
	h.Set("Content-Type", a.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache")
	if forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if hr.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	text := a.text
	if zipped := a.zipped(); zipped != nil && web.AcceptsGzip(hr.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		text = zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusOK)
	if hr.Method == http.MethodHead {
		return
	}
	if _, err := w.Write(text); err != nil {
		s.log.Debug("client closed the connection before a console file was sent", "path", hr.URL.Path, "error", err)
	}
}

// acceptsPages reports whether a client says that it shows pages. Tools do not.
func acceptsPages(headers []string) bool {
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			if kind, _, err := mime.ParseMediaType(part); err == nil && kind == "text/html" {
				return true
			}
		}
	}
	return false
}

// APIPolicy is what browsers may run in a page of ours. Source: RabbitMQ management.csp.policy.
const APIPolicy = "script-src 'self'; object-src 'self'"
