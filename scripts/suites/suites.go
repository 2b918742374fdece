package main

import (
	"cmp"
	"os"
	"strings"
	"time"
)

// A suite is one line of the summary.
type suite struct {
	name   string
	about  string
	limit  time.Duration // a suite that takes longer is ended and has failed; 0: none
	binary bool          // build/bartleby is built first
	broker startBroker   // nil: the suite needs none, or starts its own
	long   bool          // runs only when named
	skips  bool          // a skipped test is not a failure
	steps  []step        // all of them run, even if one fails
}

// A step is one command of a suite.
type step struct {
	args  []string // $AMQP, $HTTP and $SERIES stand for the suite's broker
	env   []string // added to the environment
	count counter
}

// binary is what `make build` makes.
const binary = "build/bartleby"

// concurrent lists the packages in which goroutines meet; the race detector runs on these.
var concurrent = []string{".", "./bartlebytest", "./internal/engine", "./internal/amqpserver", "./internal/management/..."}

// suites returns the table, in the order of running: what fails fastest comes first. The settings come from the
// environment, under the names that the Makefile gives them.
func suites() []suite {
	seeds := cmp.Or(os.Getenv("SEEDS"), "2000")
	disks := cmp.Or(os.Getenv("DISKS"), "20000")
	soak := cmp.Or(os.Getenv("SOAK"), "1h")
	trials := cmp.Or(os.Getenv("TRIALS"), "200")
	each := cmp.Or(os.Getenv("FUZZ"), "1m")
	mutants := strings.Fields(cmp.Or(os.Getenv("MUTANTS"), "go run ./internal/sim/mutants"))
	return []suite{
		{
			name: "lint", about: "gofmt, go vet, staticcheck, go mod tidy; prettier and types for JavaScript", limit: 8 * time.Minute,
			steps: []step{
				silent("gofmt", "-l", "."),
				silent("go", "vet", "./..."),
				silent("go", "tool", "staticcheck", "./..."),
				silent("go", "mod", "tidy", "-diff"),
				command("node", "browser/check.js"),
			},
		},
		{
			name: "unit", about: "go test ./...", limit: 8 * time.Minute, skips: true,
			steps: []step{goTest("./...")},
		},
		{
			name: "race", about: "the concurrent packages under the race detector", limit: 8 * time.Minute, skips: true,
			steps: []step{{
				args:  append([]string{"go", "test", "-json", "-count=1", "-race"}, concurrent...),
				env:   []string{"CGO_ENABLED=1"},
				count: countGoTest,
			}},
		},
		{
			name: "sim", about: "seeded simulation with crashes at any disk call", limit: 6 * time.Minute,
			steps: []step{
				goTest("-run=TestSeeds|TestFullDisks|TestPortions|TestTakenBack", "./internal/sim",
					"-args", "-seeds="+seeds, "-full=400", "-portions=150", "-lags=200"),
				goTest("-run=TestSeeds|TestVirtualHosts", "./internal/cluster", "-args", "-seeds=1000", "-hosts=300"),
			},
		},
		{
			name: "mutants", about: "injected faults, each of which a checker must detect", limit: 6 * time.Minute,
			steps: []step{command(mutants...)},
		},
		{
			name: "conformance", about: "AMQP cases with the real binary", limit: 5 * time.Minute,
			binary: true, broker: startBartleby,
			steps: []step{conformance()},
		},
		{
			name: "kill", about: "kill -9 of the real binary under load, full disks, attacks on its memory", limit: 8 * time.Minute, binary: true, skips: true,
			steps: []step{goTest("-run=Kill|FullDiskTrials|MemoryAttacks", "./crashtest/...", "-args", "-rounds=10")},
		},
		{
			name: "packages", about: "Debian packages, container image, Kubernetes: build, install, start, remove",
			limit: 5 * time.Minute, binary: true,
			steps: []step{
				goTest("./packaging", "-args", "-make"),
				{ // a module of its own; -C has to be the first flag
					args:  []string{"go", "test", "-C", "packaging/kubernetes", "-json", "-count=1", "./...", "-args", "-binary=../../" + binary},
					count: countGoTest,
				},
			},
		},
		{
			name: "interop", about: "real clients and frameworks: Java, Spring, Python, Celery, Node, Go", limit: 12 * time.Minute, binary: true,
			steps: []step{command("interop/run.sh", binary)},
		},
		{
			name: "browser", about: "the console in Debian's chromium", limit: 14 * time.Minute, binary: true,
			steps: []step{command("node", "browser/run.js", binary)},
		},
		{
			name: "interop-suites", about: "all test suites in the packages of clients",
			long: true, binary: true, limit: 2 * time.Hour,
			steps: []step{command("go", "run", "./interop/clienttests", "-binary", binary)},
		},
		{
			name: "soak", about: "the simulation for the time SOAK", long: true,
			steps: []step{goTest("-run=TestSeeds", "-timeout=0", "./internal/sim", "-args", "-soak="+soak)},
		},
		{
			name: "sim-cluster", about: "SEEDS simulations of a cluster", long: true,
			steps: []step{goTest("-run=TestSeeds", "-timeout=0", "./internal/cluster", "-args", "-seeds="+seeds)},
		},
		{
			name: "fullsim", about: "DISKS simulations with disks that are full most of the time", long: true,
			steps: []step{goTest("-run=TestFullDisks", "-timeout=0", "./internal/sim", "-args", "-full="+disks)},
		},
		{
			name: "fuzz", about: "every fuzz target, each for TIME", long: true,
			steps: []step{command("go", "run", "./scripts/fuzz", "-time", each)},
		},
		{
			name: "crashtest", about: "all crash tests with a real process", long: true, binary: true, skips: true, limit: 2 * time.Hour,
			steps: []step{goTest("-timeout=0", "./crashtest/...", "-args", "-rounds=50")},
		},
		{
			name: "fulldisk", about: "TRIALS random tests with small disks that other programs fill", long: true, binary: true, limit: 3 * time.Hour,
			steps: []step{goTest("-timeout=0", "-run=FullDiskTrials", "./crashtest/...", "-args", "-rounds=1", "-trials="+trials, "-binary=../"+binary)},
		},
		{
			name: "conformance-rabbitmq", about: "the AMQP cases against Debian's rabbitmq-server", long: true,
			limit: 15 * time.Minute, broker: startRabbitMQ("conformance/rabbitmq.sh"),
			steps: []step{conformance()},
		},
		{
			name: "conformance-rabbitmq4", about: "the AMQP cases against a rabbitmq-server of series 4", long: true,
			limit: 15 * time.Minute, broker: startRabbitMQ("conformance/rabbitmq4.sh"),
			steps: []step{conformance()},
		},
	}
}

// silent makes a step that passes if the command succeeds and has nothing to say.
func silent(args ...string) step {
	return step{args: args, count: countSilent}
}

// command makes a step whose command ends with a line `N passed, N failed`; a `go test` is counted as one.
func command(args ...string) step {
	if len(args) > 2 && args[0] == "go" && args[1] == "test" {
		return goTest(args[2:]...)
	}
	return step{args: args, count: countTotals}
}

// goTest makes a step of `go test`. Nothing is taken from the cache: a figure in the summary was seen in this run.
func goTest(args ...string) step {
	return step{args: append([]string{"go", "test", "-json", "-count=1"}, args...), count: countGoTest}
}

func conformance() step {
	return goTest("./conformance", "-args", "-amqp=$AMQP", "-http=$HTTP", "-series=$SERIES")
}
