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
	ground    = iota // vocabulary, and the seams to time and disk
	machines         // passive state machines, and the log
	columns          // the vhost, and the cluster
	rights           // what is asked about the columns: who may do what, what a topology does
	runtime          // goroutines, clocks
	frontends        // protocols
	assembly         // what a user starts, and the tools around it
)

// The two columns of the lower floors: what decides and what remembers do not know each other.
type column string

const (
	decides   column = "decides"
	remembers column = "remembers"
	between   column = "between" // seen from both sides, or sees both
)

// A space is one package of ours: where it stands and what it may know. A package below it in the
// tree lives in the same space, unless it has one of its own. Test files are bound only if outside
// is set.
type room struct {
	path    string // below the module's; "." is the root
	floor   int
	column  column
	imports []string // packages it may import; a "*" for all on lower floors
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

// broker is what the packages of the HTTP API read and change.
var broker = []string{
	"internal/engine", "internal/vhost", "internal/vhost/fact", "internal/settings", "internal/accounts",
	"internal/authz", "internal/lint", "internal/topology", "internal/amqp", "internal/filter", "internal/search",
	"internal/fairshare", "internal/duration",
}

// command is what the packages with commands of the command line know.
var command = []string{
	"internal/api", "internal/cli/command", "internal/cli/output", "internal/cli/jsonfile", "internal/duration",
}

var house = []room{
	{path: "internal/amqp", floor: ground, column: decides, never: io, passive: true},
	{path: "internal/wire", floor: ground, column: decides, imports: []string{"internal/amqp"}, never: io, passive: true},
	{path: "internal/wire/gen", floor: ground, column: decides},
	{path: "internal/api", floor: ground, column: decides, imports: []string{"internal/amqp", "internal/duration"}},
	{path: "internal/deadline", floor: ground, column: decides, imports: []string{"internal/storage"}, never: world, passive: true},
	{path: "internal/storage", floor: ground, column: between, never: world, passive: true},
	{path: "internal/listener", floor: ground, column: between},
	// logging is about the outside of the process: lines of the log.
	{path: "internal/logging", floor: ground, column: between, never: []string{"net"}},
	// regex bounds the regular expressions that somebody sends, wherever they come in.
	{path: "internal/regex", floor: ground, column: decides, never: world, passive: true},
	// duration is how people write durations, wherever they come in.
	{path: "internal/duration", floor: ground, column: decides, never: world, passive: true},
	// fullwidth is what Chinese keyboards write for ASCII, wherever it comes in.
	{path: "internal/fullwidth", floor: ground, column: decides, never: world, passive: true},
	// memory is for bodies, on their way in and where they stay.
	{path: "internal/memory", floor: ground, column: decides, never: world, passive: true},
	// liveheap is for tests of every floor.
	{path: "internal/liveheap", floor: ground, column: between, never: world},
	// contrib is files that the broker serves as they are.
	{path: "contrib", floor: ground, column: between, never: world, passive: true},
	// sift is the language in which messages are asked for: the vhost, the index and the frontends mean the same by it.
	{path: "internal/filter", floor: ground, column: decides, never: world, passive: true,
		imports: []string{"internal/amqp", "internal/duration", "internal/fullwidth"}},
	// turns is about goroutines and time, and of nothing of ours.
	{path: "internal/fairshare", floor: ground, column: between, never: io},
	{path: "internal/vfs", floor: ground, column: remembers, never: []string{"net", "log"}},

	{path: "internal/topology", floor: machines, column: decides, imports: []string{"internal/amqp"}, never: world, passive: true},
	{path: "internal/settings", floor: machines, column: decides, never: world, passive: true,
		imports: []string{"internal/amqp", "internal/deadline", "internal/duration", "internal/fullwidth",
			"internal/regex"}},
	{path: "internal/queue", floor: machines, column: decides, never: world, passive: true,
		imports: []string{"internal/amqp", "internal/deadline", "internal/storage"}},
	{path: "internal/accounts", floor: machines, column: decides, imports: []string{"internal/amqp", "internal/regex"},
		never: world, passive: true},
	// oracle is the rules told a second time, for tests: it knows neither the machine nor its parts.
	{path: "internal/vhost/oracle", floor: machines, column: decides, imports: []string{"internal/amqp"}, never: world, passive: true},
	{path: "internal/journal", floor: machines, column: remembers, never: world, passive: true,
		imports: []string{"internal/vfs", "internal/storage", "internal/journal/segment"}},
	{path: "internal/journal/segment", floor: machines, column: remembers, never: world, passive: true,
		imports: []string{"internal/vfs", "internal/storage"}},

	// fact is what the log of a virtual host consists of.
	{path: "internal/vhost/fact", floor: columns, column: decides, never: world, passive: true,
		imports: []string{"internal/amqp", "internal/deadline", "internal/topology", "internal/queue", "internal/settings", "internal/storage"}},
	{path: "internal/vhost", floor: columns, column: decides, never: world, passive: true,
		imports: []string{"internal/vhost/fact", "internal/amqp", "internal/deadline", "internal/topology", "internal/queue", "internal/settings", "internal/storage", "internal/filter", "internal/regex",
			"internal/memory"}},
	{path: "internal/cluster", floor: columns, column: remembers, never: world, passive: true,
		imports: []string{"internal/journal", "internal/storage"}},

	// authz decides who may do what, of commands too: it knows them, and what rules ask of a virtual host.
	{path: "internal/authz", floor: rights, column: decides, never: []string{"os", "log", "syscall"}, passive: true,
		imports: []string{"internal/accounts", "internal/vhost", "internal/vhost/fact", "internal/topology",
			"internal/amqp", "internal/filter"}},

	// lint looks at a copy of what a virtual host has, with the rules that the machine uses.
	{path: "internal/lint", floor: rights, column: decides, never: world, passive: true,
		imports: []string{"internal/vhost", "internal/vhost/fact", "internal/settings", "internal/topology", "internal/amqp",
			"internal/duration"}},

	{path: "internal/engine", floor: runtime, column: between, imports: []string{"*"}, never: []string{"net"}},

	// search looks at the machine through a seam that the engine fills: it keeps an index of its own, off the way of
	// messages.
	{path: "internal/search", floor: runtime, column: between, never: []string{"net"},
		imports: []string{"internal/vhost", "internal/vhost/fact", "internal/queue", "internal/accounts",
			"internal/filter", "internal/amqp", "internal/fairshare"}},

	// salvage looks at a stopped broker's data with the eyes of the engine: it folds what the journal has.
	{path: "internal/repair", floor: runtime, column: between, imports: []string{"*"}, never: world, passive: true},

	// sim drives the floors below the frontends from one goroutine.
	{path: "internal/sim", floor: frontends, column: between, never: []string{"net", "time"}, passive: true,
		imports: []string{"*", "internal/sim/ledger", "internal/sim/clients"}},
	// clients throw the dice of the simulation: they are handed them.
	{path: "internal/sim/clients", floor: frontends, column: decides, passive: true,
		never: append([]string{"time"}, io...),
		imports: []string{"internal/sim/ledger", "internal/vhost", "internal/vhost/fact", "internal/queue",
			"internal/topology", "internal/deadline", "internal/storage", "internal/amqp"}},
	{path: "internal/sim/ledger", floor: frontends, column: decides, never: world, passive: true,
		imports: []string{"internal/vhost", "internal/vhost/fact", "internal/queue", "internal/deadline", "internal/storage", "internal/amqp"}},
	{path: "internal/sim/mutants", floor: assembly, column: between, imports: []string{"*"}},

	{path: "internal/amqpserver", floor: frontends, column: decides,
		// accounts: read for logins
		imports: []string{"internal/engine", "internal/vhost", "internal/vhost/fact", "internal/accounts",
			"internal/authz", "internal/memory", "internal/listener", "internal/wire", "internal/amqp"}},
	// The packages of the HTTP API: web is what they have in common, management puts them together.
	{path: "internal/management/web", floor: frontends, column: decides, imports: append([]string{"internal/api", "internal/logging", "internal/regex"}, broker...)},
	{path: "internal/management/stats", floor: frontends, column: decides, imports: append([]string{"internal/api", "internal/management/web"}, broker...)},
	{path: "internal/management/message", floor: frontends, column: decides, imports: append([]string{"internal/api", "internal/management/web"}, broker...)},
	{path: "internal/management/metrics", floor: frontends, column: decides,
		imports: append([]string{"internal/api", "internal/regex", "internal/management/web", "internal/management/stats"}, broker...)},
	{path: "internal/management/schedule", floor: frontends, column: decides,
		imports: append([]string{"internal/api", "internal/management/web", "internal/management/message"}, broker...)},
	{path: "internal/management/deadletter", floor: frontends, column: decides,
		imports: append([]string{"internal/api", "internal/management/web", "internal/management/stats", "internal/management/message"}, broker...)},
	{path: "internal/management/resources", floor: frontends, column: decides,
		imports: append([]string{"internal/api", "internal/regex", "internal/management/web", "internal/management/stats", "internal/management/message",
			"internal/management/deadletter"}, broker...)}, // deadletter: notes on dead letters are global parameters
	{path: "internal/management/definitions", floor: frontends, column: decides,
		imports: append([]string{"internal/api", "internal/regex", "internal/management/web", "internal/management/message", "internal/management/resources"}, broker...)},
	{path: "internal/management/console", floor: frontends, column: decides, imports: []string{"internal/management/web"}},
	{path: "internal/management", floor: frontends, column: decides,
		imports: append([]string{"internal/api", "internal/logging", "internal/regex", "internal/management/web", "internal/management/stats", "internal/management/metrics",
			"internal/management/schedule", "internal/management/deadletter", "internal/management/resources", "internal/management/definitions",
			"internal/management/console", "contrib"}, broker...)}, // logging: to set its levels
	// cli reaches a broker over HTTP and no other way.
	{path: "internal/cli", floor: frontends, column: decides,
		imports: []string{"internal/api", "internal/cli/output", "internal/cli/command", "internal/cli/resources", "internal/cli/policies",
			"internal/cli/deadletter", "internal/cli/schedule", "internal/cli/node", "internal/cli/rabbitmqadmin"}},
	{path: "internal/cli/output", floor: frontends, column: decides, imports: []string{"internal/fullwidth"}},
	{path: "internal/cli/jsonfile", floor: frontends, column: decides},
	{path: "internal/cli/rabbitmqadmin", floor: frontends, column: decides, imports: []string{"internal/api", "internal/cli/output", "internal/cli/jsonfile"}},
	{path: "internal/cli/command", floor: frontends, column: decides,
		imports: []string{"internal/api", "internal/cli/output", "internal/cli/jsonfile", "internal/duration"}},
	// The packages with commands know what commands share, and not each other.
	{path: "internal/cli/resources", floor: frontends, column: decides, imports: command},
	{path: "internal/cli/policies", floor: frontends, column: decides,
		imports: append([]string{"internal/settings"}, command...)}, // settings: which keys a policy may have
	{path: "internal/cli/deadletter", floor: frontends, column: decides, imports: command},
	{path: "internal/cli/schedule", floor: frontends, column: decides, imports: command},
	{path: "internal/cli/node", floor: frontends, column: decides, imports: append([]string{"internal/cli/resources"}, command...)}, // resources: stop_app closes connections

	// perf is a load generator for any broker: it shares the codec with ours and nothing else.
	{path: "internal/perf", floor: assembly, column: decides, imports: []string{"internal/wire", "internal/amqp", "internal/duration"}},
	{path: ".", floor: assembly, column: between, imports: []string{"*"}},
	{path: "bartlebytest", floor: assembly, column: between, imports: []string{"."}},
	// config turns what operators write into what the root and the log are told; it knows RabbitMQ's names of all that.
	{path: "internal/config", floor: assembly, column: between, imports: []string{".", "internal/duration", "internal/logging"}},
	{path: "cmd/bartleby", floor: assembly, column: between,
		imports: []string{".", "internal/cli", "internal/config", "internal/logging", "internal/perf"}},

	// What looks at the product from outside: a client, a process, a script.
	{path: "conformance", floor: assembly, column: between, outside: true},
	{path: "crashtest", floor: assembly, column: between, outside: true},
	{path: "interop/clienttests", floor: assembly, column: between, outside: true},
	{path: "interop/go", floor: assembly, column: between, outside: true},
	{path: "interop/prometheus", floor: assembly, column: between, outside: true},
	{path: "bench", floor: assembly, column: between, imports: []string{"internal/api", "internal/perf"}},
	{path: "packaging", floor: assembly, column: between, outside: true},
	{path: "scripts", floor: assembly, column: between, outside: true},
}

const module = "github.com/bartleby-mq/bartleby"

// roomOf returns the space of a package by its path below the module's, nil if it has none.
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
	// If this fails, the table allows what the architecture forbids: an import upwards, or from one column into the
	// other.
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
				t.Errorf("%s may import %s, which is not in the table", r.path, name)
				continue
			}
			// Neighbours may lean on each other on the ground floor, at the top and within one door; the compiler
			// forbids circles.
			door := false
			for _, parent := range []string{"internal/vhost", "internal/management", "internal/cli", "internal/journal", "internal/sim"} {
				door = door || within(r.path, parent) && within(to.path, parent)
			}
			if level := r.floor == to.floor && (r.floor == ground || r.floor == assembly || door); to.floor >= r.floor && !level {
				t.Errorf("%s on floor %d may import %s on floor %d", r.path, r.floor, to.path, to.floor)
			}
			if r.column != between && to.column != between && to.column != r.column {
				t.Errorf("%s %s and may import %s, which %s", r.path, r.column, to.path, to.column)
			}
		}
	}
}

func TestImports(t *testing.T) {
	// If this fails, a package imports a package that it must not import, or is missing in the table.
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
			t.Errorf("%s: no floor; add it to the table of this test, with a reason in ARCHITECTURE.md", pkg)
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
		t.Error("found no package: the test checks nothing")
	}
}

func checkImport(t *testing.T, pkg string, r *room, imported string) {
	t.Helper()
	if !within(imported, module) {
		for _, banned := range r.never {
			if within(imported, banned) && !slices.Contains(values, imported) {
				t.Errorf("%s must never import %s (its row %s forbids %s)", pkg, imported, r.path, banned)
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
				t.Errorf("%s: a goroutine or channel in a package that runs in one goroutine", set.Position(n.Pos()))
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
