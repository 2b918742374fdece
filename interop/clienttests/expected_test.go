package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A suite would pass though a client fails, or a list would keep what is no longer true.
func TestJudge(t *testing.T) {
	e, err := parseExpectation("# streams are left out\nstream one\nstream two\n\n# sometimes: it counts milliseconds\nslow\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		about    string
		results  results
		complain []string
	}{
		{"as listed", results{"a": passed, "stream one": failed, "stream two": failed, "slow": passed}, nil},
		{"as listed, slow", results{"stream one": failed, "stream two": failed, "slow": failed, "b": skipped}, nil},
		{"a failure", results{"a": failed, "stream one": failed, "stream two": failed, "slow": passed}, []string{"fails: a"}},
		{
			"a listed test passes", results{"stream one": passed, "stream two": failed, "slow": failed},
			[]string{"passes, but is listed as failing (streams are left out): stream one"},
		},
		{
			"a listed test is gone", results{"stream one": failed, "stream two": skipped},
			[]string{
				"is skipped, but listed as failing: stream two",
				"is listed as failing, but does not exist: slow",
			},
		},
	} {
		if got := e.judge(c.results).complaints; !slices.Equal(got, c.complain) {
			t.Errorf("%s: %q instead of %q", c.about, got, c.complain)
		}
	}
	if got := (expectation{}).judge(results{}).complaints; len(got) != 1 {
		t.Errorf("no test at all: %q", got)
	}
}

// A list could name a test without saying why it may fail, or twice.
func TestListNeedsReasons(t *testing.T) {
	for _, text := range []string{"one\n", "# why\none\none\n"} {
		if _, err := parseExpectation(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// A list could be of a suite that does not exist, or be malformed.
func TestLists(t *testing.T) {
	files, err := expectedFiles.ReadDir("expected")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := named(f.Name()); err != nil {
			t.Error(err)
		}
		if _, err := expect(f.Name()); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}

// A runner's output would be misread, or a run that broke off would count as a whole one.
func TestReaders(t *testing.T) {
	for _, c := range []struct {
		about string
		read  reader
		text  string
		want  results // nil: an error
	}{
		{
			"go test", readGoTest,
			`{"Action":"pass","Test":"A/x"}{"Action":"fail","Test":"A/y"}{"Action":"fail","Test":"A"}{"Action":"skip","Test":"B"}{"Action":"fail"}`,
			results{"A/x": passed, "A/y": failed, "B": skipped},
		},
		{"go test that panics", readGoTest, `{"Action":"pass","Test":"A"}{"Action":"fail"}`, nil},
		{"go test that is killed", readGoTest, `{"Action":"pass","Test":"A"}`, nil},
		{
			"JUnit", readJUnit,
			`<testsuites><testsuite><testcase classname="a" name="x"/><testcase classname="a" name="y"><failure>no</failure></testcase>` +
				`<testcase name="z"><skipped/></testcase></testsuite></testsuites>`,
			results{"a x": passed, "a y": failed, "z": skipped},
		},
		{"JUnit that is cut off", readJUnit, `<testsuites><testcase classname="a" name="x"/>`, nil},
		{
			"cargo", readCargo,
			"     Running tests/io.rs (target/debug/deps/io-1)\ntest a::b ... ok\ntest c - should panic ... FAILED\ntest d ... ignored\ntest result: FAILED.\n",
			results{"tests/io.rs a::b": passed, "tests/io.rs c": failed, "tests/io.rs d": skipped},
		},
		{"cargo that is killed", readCargo, "     Running tests/io.rs (target/debug/deps/io-1)\ntest a::b ... ok\n", nil},
		{"TAP", readTAP, "1..2\nok 1 - a\nnot ok 2 - b\n", results{"a": passed, "b": failed}},
		{"TAP that is cut off", readTAP, "1..2\nok 1 - a\n", nil},
	} {
		got, err := c.read(strings.NewReader(c.text))
		if c.want == nil {
			if err == nil {
				t.Errorf("%s: %v instead of an error", c.about, got)
			}
		} else if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v instead of %v", c.about, got, err, c.want)
		}
	}
}
