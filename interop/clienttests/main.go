package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// work is where everything is kept, from the root of the repository.
const work = "build/interop/clienttests"

func main() {
	var s settings
	flag.StringVar(&s.binary, "binary", "build/bartleby", "the broker that the tests run against")
	flag.BoolVar(&s.rabbitmq, "rabbitmq", false, "run them against Debian's rabbitmq-server instead, and only show what fails")
	get := flag.Bool("get", false, "fetch and build the tests, and stop there")
	list := flag.Bool("list", false, "list the suites, and stop there")
	short := flag.Bool("short", false, "only those suites that take little time")
	inside := flag.String("inside", "", "run this suite here, where the network is its own")
	flag.Parse()
	if *inside != "" {
		exit(s.inside(*inside))
		return
	}
	chosen, err := choose(flag.Args(), *short)
	exit(err)
	root, err := os.Getwd()
	exit(err)
	s.directory = filepath.Join(root, work)
	if _, err := os.Stat("interop/clienttests"); err != nil {
		exit(fmt.Errorf("clienttests runs in the root of the repository: %w", err))
	}
	complaints, tests := 0, 0
	for _, c := range chosen {
		if *list {
			fmt.Printf("%-22s%s\n", c.name, c.about)
			continue
		}
		begun := time.Now()
		if err := s.get(c); err != nil {
			fmt.Printf("%s: not fetched: %v\n", c.name, err)
			complaints++
			continue
		}
		if *get {
			continue
		}
		v := s.run(c)
		for _, text := range v.complaints {
			fmt.Printf("%s: %s\n", c.name, text)
		}
		fmt.Printf("%s: %d of its tests passed, %d failed as expected, %d skipped, %d complaints (%d s)\n",
			c.name, v.passed, v.expected, v.skipped, len(v.complaints), int(time.Since(begun).Seconds()))
		complaints += len(v.complaints)
		tests += v.passed + v.expected
	}
	if *list || *get && complaints == 0 {
		return
	}
	fmt.Printf("%d passed, %d failed\n", tests, complaints)
	if complaints > 0 {
		os.Exit(1)
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "clienttests:", err)
		os.Exit(1)
	}
}

// choose returns the named suites, or all, or those that take little time.
func choose(names []string, short bool) ([]suite, error) {
	var chosen []suite
	for _, name := range names {
		s, err := named(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, s)
	}
	if len(names) > 0 {
		return chosen, nil
	}
	for _, s := range suites {
		if s.short || !short {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

func named(name string) (suite, error) {
	var all []string
	for _, s := range suites {
		if s.name == name {
			return s, nil
		}
		all = append(all, s.name)
	}
	return suite{}, fmt.Errorf("there is no suite %s; there are %s", name, strings.Join(all, ", "))
}

// settings are what the flags say.
type settings struct {
	binary    string
	rabbitmq  bool
	directory string
}

func (s settings) of(c suite) string { return filepath.Join(s.directory, c.name) }

// get fetches a suite unless it is there.
func (s settings) get(c suite) error {
	stamp := filepath.Join(s.of(c), "stamp")
	if got, err := os.ReadFile(stamp); err == nil && string(got) == c.get {
		return nil
	}
	if err := os.RemoveAll(s.of(c)); err != nil {
		return err
	}
	if err := os.MkdirAll(s.of(c), 0o755); err != nil {
		return err
	}
	fmt.Printf("%s: will fetch and build %s\n", c.name, c.about)
	bash := exec.Command("bash", "-euc", c.get)
	bash.Dir = s.of(c)
	if out, err := bash.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(out))
	}
	return os.WriteFile(stamp, []byte(c.get), 0o644)
}

// run runs a suite in a network of its own and judges what it writes.
func (s settings) run(c suite) verdict {
	broken := func(format string, args ...any) verdict {
		return verdict{complaints: []string{fmt.Sprintf(format, args...)}}
	}
	e, err := expect(c.name)
	if err != nil {
		return broken("the list of what is expected: %v", err)
	}
	if s.rabbitmq {
		e = expectation{}
	}
	self, err := os.Executable()
	if err != nil {
		return broken("%v", err)
	}
	output, err := os.Create(filepath.Join(s.of(c), "output"))
	if err != nil {
		return broken("%v", err)
	}
	defer output.Close()
	resultsFile := filepath.Join(s.of(c), "results")
	os.Remove(resultsFile)
	args := []string{"--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	args = append(args, self, "-inside", c.name, "-binary", s.binary, fmt.Sprintf("-rabbitmq=%t", s.rabbitmq))
	unshare := exec.Command("unshare", args...)
	unshare.Stdout, unshare.Stderr = output, output
	ended := unshare.Run()
	in, err := os.Open(resultsFile)
	if err != nil {
		return broken("it wrote no results (%v); see %s", ended, output.Name())
	}
	defer in.Close()
	r, err := c.read(in)
	if err != nil {
		return broken("%v; see %s", err, output.Name())
	}
	v := e.judge(r)
	if ended != nil {
		v.complaints = append(v.complaints, fmt.Sprintf("%v; see %s", ended, output.Name()))
	}
	return v
}

func tail(out []byte) string { return string(out[max(0, len(out)-4000):]) }
