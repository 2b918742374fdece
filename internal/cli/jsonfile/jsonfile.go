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
	"unicode/utf8"
)

// IsObject reports whether a text is a JSON object, in UTF-8: encoding/json replaces what is not, which changes names.
func IsObject(s string) bool {
	return utf8.ValidString(s) && strings.HasPrefix(strings.TrimSpace(s), "{") && json.Valid([]byte(s))
}

// Fault says where contents stop being JSON; empty: nowhere.
func Fault(contents []byte) string {
	for at := 0; at < len(contents); {
		r, n := utf8.DecodeRune(contents[at:])
		if r == utf8.RuneError && n == 1 {
			line := 1 + bytes.Count(contents[:at], []byte("\n"))
			return fmt.Sprintf(": line %d: it is not text in UTF-8. Save it as UTF-8, and try again", line)
		}
		at += n
	}
	var any json.RawMessage
	err := json.Unmarshal(contents, &any)
	wrong, ok := err.(*json.SyntaxError)
	if !ok {
		return ""
	}
	before := contents[:min(int(wrong.Offset), len(contents))]
	return fmt.Sprintf(": line %d: %s", 1+bytes.Count(before, []byte("\n")), Reason(contents, wrong))
}

// Reason is what is wrong with JSON that was refused with err. encoding/json names the first byte of a character beyond
// ASCII, as if it were one of Latin-1; Reason names the character, and what to write for a full-width one.
func Reason(contents []byte, err error) string {
	wrong, ok := err.(*json.SyntaxError)
	if !ok || wrong.Offset < 1 || wrong.Offset > int64(len(contents)) {
		return err.Error()
	}
	at := contents[wrong.Offset-1:]
	r, n := utf8.DecodeRune(at)
	if n < 2 {
		return err.Error()
	}
	text := strings.Replace(err.Error(), "'"+string(rune(at[0]))+"'", "'"+string(r)+"'", 1)
	if wide.Replace(string(r)) != string(r) {
		text += fmt.Sprintf("; it is a full-width character, write '%s'", wide.Replace(string(r)))
	}
	return text
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
