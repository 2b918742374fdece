package bartleby_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The floors of the house, from the ground up. Imports point downwards.
const (
	ground   = iota // vocabulary, and the seams to time and disk
	machines        // passive state machines, and the log
	columns         // the vhost, and the cluster
	rights          // who may do what
	runtime         // goroutines, clocks
	doors           // protocols
	assembly        // what a user starts, and the tools around it
)

// The two columns of the lower floors: what decides and what remembers do not know each other.
type column string

const (
	decides   column = "decides"
	remembers column = "remembers"
	between   column = "between" // seen from both sides, or sees both
)

// A room is one package of ours: where it stands and what it may know. A package below it in the tree lives in the same
// room, unless it has one of its own. Test files are bound only if outside is set.
type room struct {
	path    string // below the module's; "." is the root
	floor   int
	column  column
	imports []string // rooms it may import; a "*" for all on lower floors
	never   []string // packages of the standard library, with all below them
	passive bool     // no goroutine and no channel: one thread drives it, in the simulation too
	outside bool     // sees the product as a stranger does: its tests, too, keep to imports
}

// What the machines and the log must not touch, so that the same seed gives the same history: clock, locks, disk,
// network, logging, dice.
var (
	world = []string{"time", "sync", "os", "net", "log", "crypto/rand", "math/rand", "syscall"}
	io    = []string{"os", "net", "log", "syscall"}
)

// values are packages below a banned one that hold nothing but values.
var values = []string{"net/netip"}

var house = []room{
	{path: "internal/amqp", floor: ground, column: decides, never: io, passive: true},
	{path: "internal/wire", floor: ground, column: decides, imports: []string{"internal/amqp"}, never: io, passive: true},
	{path: "internal/wire/gen", floor: ground, column: decides},
	{path: "internal/api", floor: ground, column: decides, imports: []string{"internal/amqp"}},
	{path: "internal/deadline", floor: ground, column: decides, imports: []string{"internal/place"}, never: world, passive: true},
	{path: "internal/place", floor: ground, column: between, never: world, passive: true},
	{path: "internal/proxied", floor: ground, column: between},
	// certs and logbook are about the outside of the process: files of certificates, lines of the log.
	{path: "internal/certs", floor: ground, column: between},
	{path: "internal/logbook", floor: ground, column: between, never: []string{"net"}},
	// regex bounds the regular expressions that somebody sends, wherever they come in.
	{path: "internal/regex", floor: ground, column: decides, never: world, passive: true},
	// sift is the language in which messages are asked for: the vhost, the index and the doors mean the same by it.
	{path: "internal/sift", floor: ground, column: decides, imports: []string{"internal/amqp"}, never: world, passive: true},
	// turns is about goroutines and time, and of nothing of ours.
	{path: "internal/turns", floor: ground, column: between, never: io},
	{path: "internal/vfs", floor: ground, column: remembers, never: []string{"net", "log"}},

	{path: "internal/topology", floor: machines, column: decides, imports: []string{"internal/amqp"}, never: world, passive: true},
	{path: "internal/queue", floor: machines, column: decides, never: world, passive: true,
		imports: []string{"internal/amqp", "internal/deadline", "internal/place"}},
	{path: "internal/access", floor: machines, column: decides, imports: []string{"internal/amqp", "internal/regex"}, never: world, passive: true},
	// model is the rules told a second time, for tests: it knows neither the machine nor its parts.
	{path: "internal/model", floor: machines, column: decides, imports: []string{"internal/amqp"}, never: world, passive: true},
	{path: "internal/journal", floor: machines, column: remembers, never: world, passive: true,
		imports: []string{"internal/vfs", "internal/place"}},

	{path: "internal/vhost", floor: columns, column: decides, never: world, passive: true,
		imports: []string{"internal/amqp", "internal/deadline", "internal/topology", "internal/queue", "internal/place", "internal/sift", "internal/regex"}},
	{path: "internal/cluster", floor: columns, column: remembers, never: world, passive: true,
		imports: []string{"internal/journal", "internal/place"}},

	// authz decides who may do what, of commands too: it knows them, and what rules ask of a virtual host.
	{path: "internal/authz", floor: rights, column: decides, never: []string{"os", "log", "syscall"}, passive: true,
		imports: []string{"internal/access", "internal/vhost", "internal/topology", "internal/amqp", "internal/sift"}},

	{path: "internal/engine", floor: runtime, column: between, imports: []string{"*"}, never: []string{"net"}},

	// search looks at the machine through a seam that the engine fills: it keeps an index of its own, off the way of messages.
	{path: "internal/search", floor: runtime, column: between, never: []string{"net"},
		imports: []string{"internal/vhost", "internal/queue", "internal/access", "internal/sift", "internal/amqp", "internal/turns"}},

	// salvage looks at a stopped broker's data with the eyes of the engine: it folds what the journal has.
	{path: "internal/salvage", floor: runtime, column: between, imports: []string{"*"}, never: world, passive: true},

	// sim drives the floors below the doors from one goroutine.
	{path: "internal/sim", floor: doors, column: between, imports: []string{"*"}, never: []string{"net", "time"}, passive: true},
	{path: "internal/sim/mutants", floor: assembly, column: between, imports: []string{"*"}},

	{path: "internal/amqpserver", floor: doors, column: decides,
		imports: []string{"internal/engine", "internal/vhost", "internal/access", "internal/authz", "internal/wire", "internal/amqp"}}, // access: to look at, for logins
	{path: "internal/management", floor: doors, column: decides,
		imports: []string{"internal/engine", "internal/vhost", "internal/access", "internal/authz", "internal/api", "internal/amqp", "internal/logbook", "internal/sift", "internal/search", "internal/turns", "internal/regex"}}, // logbook: to set its levels
	// cli reaches a broker over HTTP and no other way.
	{path: "internal/cli", floor: doors, column: decides, imports: []string{"internal/api"}},

	// perf is a load generator for any broker: it shares the codec with ours and nothing else.
	{path: "internal/perf", floor: assembly, column: decides, imports: []string{"internal/wire", "internal/amqp"}},
	{path: ".", floor: assembly, column: between, imports: []string{"*"}},
	{path: "bartlebytest", floor: assembly, column: between, imports: []string{"."}},
	// config turns what operators write into what the root and the log are told; it knows RabbitMQ's names of all that.
	{path: "internal/config", floor: assembly, column: between, imports: []string{".", "internal/logbook"}},
	{path: "cmd/bartleby", floor: assembly, column: between,
		imports: []string{".", "internal/cli", "internal/config", "internal/logbook", "internal/perf"}},

	// What looks at the product from outside: a client, a process, a script.
	{path: "conformance", floor: assembly, column: between, outside: true},
	{path: "violence", floor: assembly, column: between, outside: true},
	{path: "interop/clienttests", floor: assembly, column: between, outside: true},
	{path: "interop/go", floor: assembly, column: between, outside: true},
	{path: "interop/prometheus", floor: assembly, column: between, outside: true},
	{path: "bench", floor: assembly, column: between, imports: []string{"internal/perf"}},
	{path: "packaging", floor: assembly, column: between, outside: true},
	{path: "scripts", floor: assembly, column: between, outside: true},
}

const module = "github.com/bartleby-mq/bartleby"

// roomOf returns the room of a package by its path below the module's, nil if it has none.
func roomOf(pkg string) *room {
	for p := pkg; ; p = path.Dir(p) {
		if i := slices.IndexFunc(house, func(r room) bool { return r.path == p }); i >= 0 && (p != "." || pkg == ".") {
			return &house[i]
		}
		if p == "." {
			return nil
		}
	}
}

// within reports whether pkg is parent or below it.
func within(pkg, parent string) bool {
	return pkg == parent || strings.HasPrefix(pkg, parent+"/")
}

func TestHouseStands(t *testing.T) {
	// If this fails, the table allows what the architecture forbids: an import upwards, or from one column into the other.
	t.Parallel()
	for _, r := range house {
		for _, name := range r.imports {
			if name == "*" {
				if r.column != between {
					t.Errorf("%s belongs to the column that %s and may import all below it", r.path, r.column)
				}
				continue
			}
			to := roomOf(name)
			if to == nil || to.path != name {
				t.Errorf("%s may import %s, which has no room", r.path, name)
				continue
			}
			// Neighbours may lean on each other on the ground floor and at the top; the compiler forbids circles.
			if level := r.floor == to.floor && (r.floor == ground || r.floor == assembly); to.floor >= r.floor && !level {
				t.Errorf("%s on floor %d may import %s on floor %d", r.path, r.floor, to.path, to.floor)
			}
			if r.column != between && to.column != between && to.column != r.column {
				t.Errorf("%s %s and may import %s, which %s", r.path, r.column, to.path, to.column)
			}
		}
	}
}

func TestImports(t *testing.T) {
	// If this fails, a package knows what it must not know, or nobody has said what it may know.
	t.Parallel()
	found := 0
	for dir := range packages(t) {
		p, err := build.ImportDir(dir, 0)
		if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
			continue
		} else if err != nil {
			t.Error(err)
			continue
		}
		found++
		pkg := filepath.ToSlash(dir)
		r := roomOf(pkg)
		if r == nil {
			t.Errorf("%s: no floor; give it a room in the table of this test, with a reason in ARCHITECTURE.md", pkg)
			continue
		}
		imports := p.Imports
		if r.outside {
			imports = slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		}
		for _, imported := range imports {
			checkImport(t, pkg, r, imported)
		}
		if r.passive {
			checkPassive(t, dir, p.GoFiles)
		}
	}
	if found == 0 {
		t.Error("found no package: the test looks at nothing")
	}
}

func checkImport(t *testing.T, pkg string, r *room, imported string) {
	t.Helper()
	if !within(imported, module) {
		for _, banned := range r.never {
			if within(imported, banned) && !slices.Contains(values, imported) {
				t.Errorf("%s must never import %s (its room %s bans %s)", pkg, imported, r.path, banned)
			}
		}
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	if name == "" {
		name = "."
	}
	to := roomOf(name)
	switch {
	case to == nil: // reported for the package itself
	case to == r || slices.Contains(r.imports, to.path):
	case slices.Contains(r.imports, "*") && to.floor < r.floor:
	default:
		t.Errorf("%s may not import %s", pkg, name)
	}
}

// checkPassive reports goroutines and channels.
func checkPassive(t *testing.T, dir string, files []string) {
	t.Helper()
	set := token.NewFileSet()
	for _, name := range files {
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s: a goroutine or channel in a package that one thread drives", set.Position(n.Pos()))
			}
			return true
		})
	}
}

// packages yields the directories below this one that the go command looks into.
func packages(t *testing.T) func(func(string) bool) {
	return func(yield func(string) bool) {
		err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			hidden := dir != "." && strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
			if hidden || slices.Contains([]string{"testdata", "node_modules", "build", "target", "bartleby-data"}, d.Name()) {
				return fs.SkipDir
			}
			if !yield(dir) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
