package resources

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
)

// definitionsPatience is as long as an import may take, unless --timeout says otherwise.
const definitionsPatience = 10 * time.Minute

func definitionsHelp() string {
	return `The file has the format of RabbitMQ. It contains password hashes: keep it secret. Only its owner can read it.
An import creates or replaces the objects in the file and deletes nothing.`
}

// jsonOnly refuses Erlang's own format.
func jsonOnly(c *command.Call) error {
	if format := c.Options.Or("format", "json"); format != "json" {
		return c.Invalid(fmt.Sprintf("unsupported format '%s': definitions are JSON", format))
	}
	return nil
}

func exportDefinitions(c *command.Call) error {
	if err := jsonOnly(c); err != nil {
		return err
	}
	path := c.Args[0]
	if path != "-" {
		c.Banner("Exporting definitions in JSON to a file at \"%s\" ...", path)
	}
	var definitions json.RawMessage
	if err := c.Client.Get(c.Ctx, &definitions, "definitions"); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, definitions, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	if path == "-" {
		_, err := output.JSONSafe{Writer: c.Data}.Write(b.Bytes())
		return err
	}
	if err := jsonfile.Replace(path, b.Bytes()); err != nil {
		return command.Failf(command.ExitData, "cannot write the definitions: %v", err)
	}
	return c.Done("", nil)
}

// An object of definitions that is refused, and settings of a policy that are unknown, as RabbitMQ prints them, with
// the name of each.
var (
	refusedObject   = regexp.MustCompile(`(?m)^[a-z ]+ '[^']*'.*: `)
	unknownSettings = regexp.MustCompile(`(?:Validation failed: )?\[(\{<<".*)\] are not recognised policy settings`)
	settingName     = regexp.MustCompile(`(?:^|,)\{<<"([^"]*)">>,`)
)

// howToGoOn follows a list of refused objects.
const howToGoOn = "Nothing was imported. Remove these objects from the file and import it again, or choose the file " +
	"on the page Definitions of the console, which can leave them out."

// refusedDefinitions lists the mistakes in definitions, a line of the answer each, with empty lines between them.
func refusedDefinitions(err error) error {
	if command.Status(err) != http.StatusBadRequest {
		return err
	}
	reason := command.ReasonOf(err)
	text := strings.ReplaceAll(unknownSettings.ReplaceAllStringFunc(reason, inWords), "\n", "\n\n")
	if refusedObject.MatchString(reason) {
		text += "\n\n" + howToGoOn
	}
	return command.Failf(command.ExitUnavailable, "%s", text)
}

// inWords lists the unknown settings of a policy without Erlang's signs and without their values.
func inWords(said string) string {
	var names []string
	for _, m := range settingName.FindAllStringSubmatch(unknownSettings.FindStringSubmatch(said)[1], -1) {
		names = append(names, m[1])
	}
	return "unknown policy settings: " + strings.Join(names, ", ")
}

func importDefinitions(c *command.Call) error {
	if err := jsonOnly(c); err != nil {
		return err
	}
	var contents []byte
	var err error
	if len(c.Args) == 0 || c.Args[0] == "-" {
		c.Banner("Importing definitions in JSON from standard input ...")
		contents, err = io.ReadAll(c.Stdin)
	} else {
		c.Banner("Importing definitions in JSON from a file at \"%s\" ...", c.Args[0])
		contents, err = os.ReadFile(c.Args[0])
	}
	if err != nil {
		return command.Failf(command.ExitData, "cannot read the definitions: %v", err)
	}
	contents = bytes.TrimSpace(bytes.TrimPrefix(contents, []byte("\ufeff")))
	if !jsonfile.IsObject(string(contents)) {
		return command.Failf(command.ExitData, "the definitions are not a JSON object%s", jsonfile.Fault(contents))
	}
	path, done := api.Path("definitions"), ""
	if c.Options.On("dry-run") {
		path, done = path+"?dry_run=true", "The definitions are valid. Nothing was changed."
	}
	if _, err := c.Client.Do(c.Ctx, http.MethodPost, path, json.RawMessage(contents), nil); err != nil {
		return refusedDefinitions(err)
	}
	return c.Done(done, nil)
}
