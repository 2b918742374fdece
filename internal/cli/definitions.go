package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// definitionsPatience is as long as an import may take, unless --timeout says otherwise.
const definitionsPatience = 10 * time.Minute

func definitionsHelp() string {
	return `The file has the format of RabbitMQ. It contains password hashes: keep it secret. Only its owner can read it.
An import creates or replaces the objects in the file and deletes nothing.`
}

// jsonOnly refuses Erlang's own format.
func (c *call) jsonOnly() error {
	if format := c.words.or("format", "json"); format != "json" {
		return c.invalid(fmt.Sprintf("unsupported format '%s': definitions are JSON", format))
	}
	return nil
}

func exportDefinitions(c *call) error {
	if err := c.jsonOnly(); err != nil {
		return err
	}
	path := c.args[0]
	if path != "-" {
		c.banner("Exporting definitions in JSON to a file at \"%s\" ...", path)
	}
	var definitions json.RawMessage
	if err := c.client.Get(c.ctx, &definitions, "definitions"); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, definitions, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	if path == "-" {
		_, err := c.stdout.Write(b.Bytes())
		return err
	}
	if err := replaceFile(path, b.Bytes()); err != nil {
		return failf(exitData, "cannot write the definitions: %v", err)
	}
	return c.done("", nil)
}

// replaceFile writes a file that has its name when it is complete; only its owner may read it.
func replaceFile(path string, contents []byte) error {
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

func importDefinitions(c *call) error {
	if err := c.jsonOnly(); err != nil {
		return err
	}
	var contents []byte
	var err error
	if len(c.args) == 0 || c.args[0] == "-" {
		c.banner("Importing definitions in JSON from standard input ...")
		contents, err = io.ReadAll(c.stdin)
	} else {
		c.banner("Importing definitions in JSON from a file at \"%s\" ...", c.args[0])
		contents, err = os.ReadFile(c.args[0])
	}
	if err != nil {
		return failf(exitData, "cannot read the definitions: %v", err)
	}
	contents = bytes.TrimSpace(bytes.TrimPrefix(contents, []byte("\ufeff")))
	if !isObject(string(contents)) {
		return failf(exitData, "the definitions are not a JSON object%s", whereNot(contents))
	}
	if err := c.client.Post(c.ctx, json.RawMessage(contents), nil, "definitions"); err != nil {
		return refusedValue(err)
	}
	return c.done("", nil)
}

// whereNot says where text stops being JSON.
func whereNot(contents []byte) string {
	var any json.RawMessage
	err := json.Unmarshal(contents, &any)
	wrong, ok := err.(*json.SyntaxError)
	if !ok {
		return ""
	}
	before := contents[:min(int(wrong.Offset), len(contents))]
	return fmt.Sprintf(": line %d: %v", 1+bytes.Count(before, []byte("\n")), wrong)
}
