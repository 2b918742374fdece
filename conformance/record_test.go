package conformance

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// A record is which cases passed when all of them were last run, with -update, against a version of RabbitMQ.
type record struct {
	version string
	passed  map[string]bool
}

// records is a file for each version, named after it, with a line for each case that passed.
const recordsDir = "testdata/passed"

//go:embed testdata
var testdata embed.FS

// readRecords returns the records, the oldest series first.
func readRecords() ([]record, error) {
	var from fs.FS = testdata
	if *update { // a run may just have left one
		from = os.DirFS(".")
	}
	files, err := fs.Glob(from, recordsDir+"/*")
	if err != nil {
		return nil, err
	}
	var all []record
	for _, name := range files {
		list, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		r := record{version: path.Base(name), passed: map[string]bool{}}
		for line := range strings.Lines(string(list)) {
			r.passed[strings.TrimSuffix(line, "\n")] = true
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int { return bySeries(a.version, b.version) })
	return all, nil
}

// keepRecord writes the record of a run that has ended, if it ran every case that can be run.
func keepRecord(t *testing.T, version string) {
	if _, err := parseSeries(version); err != nil {
		t.Error(errors.Join(errors.New("the broker does not say its version"), err))
		return
	}
	var passed []string
	ran := outcome.passed.Load() + outcome.failed.Load() + outcome.alone.Load()
	if all := slices.Concat(suites...); int(ran) != len(all) {
		t.Logf("%d of %d cases ran: no record is kept", ran, len(all))
		return
	}
	outcome.names.Range(func(name, _ any) bool {
		passed = append(passed, name.(string))
		return true
	})
	slices.Sort(passed)
	list := strings.Join(passed, "\n") + "\n"
	if err := os.WriteFile(fmt.Sprintf("%s/%s", recordsDir, version), []byte(list), 0o644); err != nil {
		t.Error(err)
	}
}
