package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// An outcome is what became of one test.
type outcome int

const (
	skipped outcome = iota
	passed
	failed
)

// results are the outcomes by the names of tests. A test that ran more than once has failed if one run did.
type results map[string]outcome

func (r results) add(name string, o outcome) {
	if old, ok := r[name]; !ok || o > old {
		r[name] = o
	}
}

// A reader understands what one test runner writes.
type reader func(io.Reader) (results, error)

// readGoTest reads the output of `go test -json` or test2json. Tests that have subtests are not counted themselves.
func readGoTest(in io.Reader) (results, error) {
	r := results{}
	outcomes := map[string]outcome{"pass": passed, "fail": failed, "skip": skipped}
	ended := ""
	for d := json.NewDecoder(in); ; {
		var event struct{ Action, Test string }
		err := d.Decode(&event)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		o, ok := outcomes[event.Action]
		switch {
		case !ok:
		case event.Test == "":
			ended = event.Action
		default:
			r.add(event.Test, o)
		}
	}
	failures := false
	for name, o := range r {
		failures = failures || o == failed
		for i := strings.LastIndexByte(name, '/'); i >= 0; i = strings.LastIndexByte(name[:i], '/') {
			delete(r, name[:i])
		}
	}
	if ended == "" || ended == "fail" && !failures {
		return nil, fmt.Errorf("the tests did not come to their end")
	}
	return r, nil
}

// readJUnit reads JUnit's XML, which pytest and Ginkgo write.
func readJUnit(in io.Reader) (results, error) {
	r := results{}
	for d := xml.NewDecoder(in); ; {
		token, err := d.Token()
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		var test struct {
			Class   string    `xml:"classname,attr"`
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		}
		if err := d.DecodeElement(&test, &start); err != nil {
			return nil, err
		}
		name := strings.Join(strings.Fields(test.Class+" "+test.Name), " ")
		switch {
		case test.Failure != nil || test.Error != nil:
			r.add(name, failed)
		case test.Skipped != nil:
			r.add(name, skipped)
		default:
			r.add(name, passed)
		}
	}
}

var (
	cargoBinary = regexp.MustCompile(`^\s*Running (?:unittests )?(\S+) \(`)
	cargoTest   = regexp.MustCompile(`^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)`)
	cargoEnd    = regexp.MustCompile(`^test result: `)
)

// readCargo reads what `cargo test` prints. A test is named after the file of its binary, too.
func readCargo(in io.Reader) (results, error) {
	r := results{}
	outcomes := map[string]outcome{"ok": passed, "FAILED": failed, "ignored": skipped}
	begun, ended := 0, 0
	binary := ""
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := lines.Text()
		if m := cargoBinary.FindStringSubmatch(line); m != nil {
			binary = m[1]
			begun++
		} else if m := cargoTest.FindStringSubmatch(line); m != nil {
			r.add(binary+" "+m[1], outcomes[m[2]])
		} else if cargoEnd.MatchString(line) {
			ended++
		}
	}
	if begun == 0 || ended < begun {
		return nil, fmt.Errorf("%d of %d test binaries came to their end", ended, begun)
	}
	return r, nil
}

var tapLine = regexp.MustCompile(`^(ok|not ok) \d+ (?:- )?(.*)$`)

// readTAP reads lines such as "not ok 3 - what it was", and the plan "1..N" among them.
func readTAP(in io.Reader) (results, error) {
	r := results{}
	outcomes := map[string]outcome{"ok": passed, "not ok": failed}
	plan := -1
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if m := tapLine.FindStringSubmatch(lines.Text()); m != nil {
			r.add(m[2], outcomes[m[1]])
		} else if n := 0; plan < 0 {
			if _, err := fmt.Sscanf(lines.Text(), "1..%d", &n); err == nil {
				plan = n
			}
		}
	}
	if len(r) != plan {
		return nil, fmt.Errorf("%d of %d tests came to their end", len(r), plan)
	}
	return r, nil
}
