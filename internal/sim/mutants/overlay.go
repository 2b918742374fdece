package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// writeOverlay writes changed copies of the product's files into dir, and what tells the go command to take them:
// `-overlay` and the name that is returned.
func writeOverlay(root, dir string) (name string, err error) {
	changed, err := change(root)
	if err != nil {
		return "", err
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "__"))
		if err := os.WriteFile(to, []byte(text), 0o666); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, file)] = to
	}
	b, err := json.Marshal(&overlay)
	if err != nil {
		return "", err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o666)
}

// change returns the files of the build with all faults. The error names each fault that has no place in
// the product, or the place of another.
func change(root string) (map[string]string, error) {
	edits := map[string][]placed{}
	var errs []error
	place := func(fault string, list []edit) {
		for _, e := range list {
			p, err := e.place(root, fault)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", fault, err))
				continue
			}
			edits[e.file] = append(edits[e.file], p)
		}
	}
	place("what all faults need", seams())
	for _, f := range all() {
		place(f.name, f.edits)
	}
	files := added()
	for file, list := range edits {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			files[file], err = apply(string(text), list)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	return files, errors.Join(errs...)
}

// placed is text that takes the place of a file's bytes from at to end.
type placed struct {
	fault   string
	at, end int
	text    string
}

// place finds where e belongs, for a fault.
func (e *edit) place(root, fault string) (placed, error) {
	text, err := os.ReadFile(filepath.Join(root, e.file))
	if err != nil {
		return placed{}, err
	}
	if n := strings.Count(string(text), e.at); n != 1 {
		return placed{}, fmt.Errorf("%s has %d times, not once: %q", e.file, n, e.at)
	}
	name := func(text string) string { return strings.ReplaceAll(text, "FAULT", strconv.Quote(fault)) }
	at := strings.Index(string(text), e.at)
	switch end := at + len(e.at); {
	case e.instead != "":
		return placed{fault, at, end, name(e.instead)}, nil
	case e.before != "" && e.after != "":
		return placed{fault, at, end, name(e.before) + e.at + name(e.after)}, nil
	case e.before != "":
		return placed{fault, at, at, name(e.before)}, nil
	default:
		return placed{fault, end, end, name(e.after)}, nil
	}
}

// apply makes all edits of a file.
func apply(text string, list []placed) (string, error) {
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.end, b.end))
	})
	var b strings.Builder
	done := 0
	for i, p := range list {
		if p.at < done {
			return "", fmt.Errorf("%q is changed by two faults: %s; %s", text[p.at:p.end], list[i-1].fault, p.fault)
		}
		b.WriteString(text[done:p.at] + p.text)
		done = p.end
	}
	return b.String() + text[done:], nil
}
