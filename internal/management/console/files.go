package console

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// The console's first page, and its first module.
const (
	indexName = "index.html"
	entryName = "lib/app.js"
)

// styleName is the one style sheet that all of css become. firstStyles are the layers of style in their order; what
// pages bring along comes after.
const styleName = "console.css"

var firstStyles = []string{"css/reset.css", "css/tokens.css", "css/base.css", "css/components.css"}

// An asset is a file as it is sent.
type asset struct {
	kind   string // media type
	tag    string // entity tag
	text   []byte
	zipped func() []byte // compressed when it is first sent; nil: compression gains nothing
}

func newAsset(name string, text []byte) *asset {
	sum := sha256.Sum256(text)
	return &asset{
		kind: mediaOf(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`, text: text,
		zipped: sync.OnceValue(func() []byte {
			if zipped := web.Compress(text, gzip.BestCompression); len(zipped) < len(text) {
				return zipped
			}
			return nil
		}),
	}
}

// mediaOf is a file's media type, whatever the machine believes.
func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".json":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream")
}

// consoleTree is the console's files by name.
type consoleTree map[string][]byte

// readConsole reads them below ui. The dictionaries of a language become one, i18n/LANGUAGE.json, and the style sheets:
// each file is a journey of the first view.
func readConsole(from fs.FS) (consoleTree, error) {
	files, words := consoleTree{}, map[string]map[string]string{}
	err := fs.WalkDir(from, "ui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "ui/")
		switch language, ok := strings.CutPrefix(path.Dir(name), "i18n/"); {
		case path.Ext(name) == ".md":
		case ok:
			if words[language] == nil {
				words[language] = map[string]string{}
			}
			if err := addWords(words[language], text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		default:
			files[name] = text
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for language, all := range words {
		text, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		files["i18n/"+language+".json"] = text
	}
	files.joinStyles()
	return files, nil
}

// addWords adds a dictionary to another. A key that is in both, which a test of the dictionaries does not let happen,
// keeps what it has: a console with a wrong word is better than none.
func addWords(to map[string]string, text []byte) error {
	var words map[string]string
	if err := json.Unmarshal(text, &words); err != nil {
		return err
	}
	for key, message := range words {
		if _, ok := to[key]; !ok {
			to[key] = message
		}
	}
	return nil
}

// digest stands for all files: it changes if one does.
func (t consoleTree) digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(h, "%s %d\n", name, len(t[name]))
		h.Write(t[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// page is the first page with the addresses of the files that it needs at once.
func (t consoleTree) page(prefix, root string) []byte {
	var links strings.Builder
	fmt.Fprintf(&links, "<link rel=\"stylesheet\" href=\"%s%s/%s\">\n", prefix, root, styleName)
	for _, name := range t.closure(entryName) {
		fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"%s%s/%s\">\n", prefix, root, name)
	}
	return []byte(strings.NewReplacer("{prefix}", prefix, "{assets}", prefix+root, "<!-- links -->\n", links.String()).Replace(string(t[indexName])))
}

// joinStyles makes one style sheet of all below css, in their order.
func (t consoleTree) joinStyles() {
	names := slices.Clone(firstStyles)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if path.Dir(name) == "css" && !slices.Contains(firstStyles, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		t[styleName] = append(t[styleName], t[name]...)
		delete(t, name)
	}
}

// imports finds what a module imports when it is loaded, not what it may load later.
var imports = regexp.MustCompile(`(?:\bfrom\s*|\bimport\s*)["'](\.[^"']+)["']`)

// closure lists a module and all that it imports, in the order in which they are found.
func (t consoleTree) closure(name string) []string {
	found := []string{name}
	for i := 0; i < len(found); i++ {
		for _, m := range imports.FindAllSubmatch(t[found[i]], -1) {
			to := path.Join(path.Dir(found[i]), string(m[1]))
			if !slices.Contains(found, to) {
				found = append(found, to)
			}
		}
	}
	return found
}
