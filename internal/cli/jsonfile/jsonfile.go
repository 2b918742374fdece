// Package jsonfile is about JSON that users type or have in files: what is wrong with it, what it was before a shell or
// an editor changed it, and writing a file whole.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// IsObject reports whether a text is a JSON object.
func IsObject(s string) bool {
	return strings.HasPrefix(strings.TrimSpace(s), "{") && json.Valid([]byte(s))
}

// Fault says where contents stop being JSON; empty: nowhere.
func Fault(contents []byte) string {
	var any json.RawMessage
	err := json.Unmarshal(contents, &any)
	wrong, ok := err.(*json.SyntaxError)
	if !ok {
		return ""
	}
	before := contents[:min(int(wrong.Offset), len(contents))]
	return fmt.Sprintf(": line %d: %v", 1+bytes.Count(before, []byte("\n")), wrong)
}

// Replace writes a file that has its name when it is complete; only its owner may read it.
func Replace(path string, contents []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".definitions-*")
	if err != nil {
		return err
	}
	_, err = f.Write(contents)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what is left over is told by err
	}
	return err
}
