// Package rabbitmqadmin is the command line of RabbitMQ's management plugin: name=value words, errors behind three
// stars on standard output, and the exit code 1. What it shares with bartleby ctl, the connection to the broker, is
// given to it. Source: RabbitMQ management-cli, the classic rabbitmqadmin.
package rabbitmqadmin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/jsonfile"
)

// Program is what a run needs of the process.
type Program struct {
	Stdin  io.Reader
	Stdout io.Writer // that escapes what controls a terminal
	JSON   io.Writer // the same for JSON
	Env    func(string) string
	// Connect returns a client of the broker at an address, with the trust and the login that are given.
	Connect func(Target) (*api.Client, error)
}

// Target is where the broker is, and as whom it is asked. Empty fields are left to the program.
type Target struct {
	Base               string
	Username, Password *string
	CACert             *string
	Insecure           bool
}

// An admin is one run of rabbitmqadmin.
type admin struct {
	Program
	client  *api.Client
	ctx     context.Context
	options map[string]string // by long name
	given   []string          // subcommand and arguments
}

// adminUsage begins the help of rabbitmqadmin; verbs and lists follow.
const adminUsage = `Usage:
  rabbitmqadmin [options] subcommand

Options:
  --host=HOST, -H HOST          connect to host HOST [default: localhost]
  --port=PORT, -P PORT          connect to port PORT [default: 15672,
                                or the port of the broker in BARTLEBY_DATA]
  --path-prefix=PREFIX          path before /api
  --base-uri=URI, -U URI        instead of host, port and prefix
  --vhost=VHOST, -V VHOST       virtual host [default: all for list, '/' for declare]
  --username=NAME, -u NAME      [default: guest, or the secret of the data directory here]
  --password=PASSWORD, -p PASSWORD
  --quiet, -q                   suppress status messages
  --ssl, -s                     connect with TLS
  --ssl-ca-cert-file=FILE       trusted CA certificates, in PEM
  --ssl-insecure, -k            trust any certificate
  --request-timeout=S, -t S     seconds [default: 120]
  --format=FORMAT, -f FORMAT    raw_json, pretty_json, tsv, long, table, kvp, bash [default: table]
  --sort=COLUMN, -S COLUMN      sort a list
  --sort-reverse, -R            reverse the sort order
  --depth=DEPTH, -d DEPTH       depth to which objects are split into columns [default: 1]
  --config=FILE, -c FILE        [default: ~/.rabbitmqadmin.conf]
  --node=NODE, -N NODE          section of that file [default: default]
  --version, --help
`

// adminOptions are the options by their short names, a colon behind those that have a value.
var adminOptions = map[string]string{
	"H": "host:", "P": "port:", "U": "base-uri:", "V": "vhost:", "u": "username:", "p": "password:", "q": "quiet",
	"s": "ssl", "k": "ssl-insecure", "t": "request-timeout:", "f": "format:", "S": "sort:", "R": "sort-reverse", "d": "depth:",
	"c": "config:", "N": "node:", "h": "help",
}

// adminLong are those that have no short name.
var adminLong = []string{
	"path-prefix:", "ssl-ca-cert-file:", "ssl-key-file:", "ssl-cert-file:", "ssl-disable-hostname-verification", "version", "bash-completion",
}

// A mistake is in what was typed.
type mistake string

func (m mistake) Error() string {
	return "\nERROR: " + string(m) + "\n\nrabbitmqadmin --help for help\n"
}

// A told failure is what stands behind the stars.
type told string

func (t told) Error() string { return string(t) }

// Run runs one command and returns the exit code.
func (p Program) Run(args []string) int {
	a := &admin{Program: p, options: map[string]string{}}
	err := a.run(args)
	var wrong mistake
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintln(a.Stdout, wrong.Error())
		if strings.HasPrefix(string(wrong), "no such option") {
			return 2
		}
	default:
		fmt.Fprintf(a.Stdout, "*** %s\n\n", a.complaint(err))
	}
	return 1
}

func (a *admin) run(args []string) error {
	if err := a.parse(args); err != nil {
		return err
	}
	switch {
	case a.options["version"] != "":
		fmt.Fprintln(a.Stdout, "rabbitmqadmin "+api.RabbitMQVersion)
		return nil
	case a.options["help"] != "" || len(a.given) > 0 && a.given[0] == "help":
		fmt.Fprint(a.Stdout, adminUsage, "\n", adminSubcommands())
		return nil
	case a.options["bash-completion"] != "":
		return mistake("completion is not supported for rabbitmqadmin; use 'bartleby completion bash'")
	case len(a.given) == 0:
		return mistake("Action not specified")
	}
	if err := a.configure(); err != nil {
		return err
	}
	if format := a.or("format", "table"); !slices.Contains(adminFormats, format) {
		return mistake(fmt.Sprintf("Format %s not understood", format))
	}
	cancel, err := a.reach()
	if err != nil {
		return err
	}
	defer cancel()
	verb, rest := a.given[0], a.given[1:]
	switch verb {
	case "list", "show":
		return a.list(verb, rest)
	case "export", "import":
		return a.definitions(verb, rest)
	}
	return a.act(verb, rest)
}

// parse takes options, which may stand anywhere, from arguments.
func (a *admin) parse(args []string) error {
	long := map[string]bool{} // by name, whether it has a value
	for _, o := range adminLong {
		name, valued := strings.CutSuffix(o, ":")
		long[name] = valued
	}
	for _, o := range adminOptions {
		name, valued := strings.CutSuffix(o, ":")
		long[name] = valued
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if len(word) < 2 || word[0] != '-' {
			a.given = append(a.given, word)
			continue
		}
		name, value, glued := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") {
			name, _ = strings.CutSuffix(adminOptions[word[1:2]], ":")
			value, glued = word[2:], len(word) > 2
		}
		valued, known := long[name]
		switch {
		case !known || glued && !valued:
			return mistake("no such option: " + word)
		case !valued:
			value = "true"
		case !glued:
			if i++; i == len(args) {
				return mistake(word + " option requires 1 argument")
			}
			value = args[i]
		}
		a.options[name] = value
	}
	return nil
}

// configure takes what the options leave open from the file of configuration. Its default need not be there.
func (a *admin) configure() error {
	path, named := a.options["config"]
	if !named {
		path = a.Env("HOME") + "/.rabbitmqadmin.conf"
	}
	b, err := os.ReadFile(path)
	if err != nil && !named {
		return nil
	}
	if err != nil {
		return told(fmt.Sprintf("Could not read config file '%s': %v", path, err))
	}
	wanted, found, here := a.options["node"], false, false
	if wanted == "" {
		wanted = "default"
	}
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			here = strings.TrimSpace(line[1:len(line)-1]) == wanted
			found = found || here
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !here || !ok {
			continue
		}
		key, value = strings.ReplaceAll(strings.TrimSpace(key), "_", "-"), strings.TrimSpace(value)
		if key == "hostname" {
			key = "host"
		}
		if _, typed := a.options[key]; !typed && !strings.EqualFold(value, "false") {
			a.options[key] = value
		}
	}
	if !found {
		return told(fmt.Sprintf("Could not read section '%s' in config file '%s'", wanted, path))
	}
	return nil
}

// reach makes the client.
func (a *admin) reach() (cancel func(), err error) {
	seconds, err := strconv.ParseFloat(a.or("request-timeout", "120"), 64)
	if err != nil || !(seconds > 0 && seconds < 1e9) {
		return nil, mistake("the timeout must be a number of seconds")
	}
	base := a.options["base-uri"]
	if base == "" {
		scheme, port := "http", "15672"
		if a.options["ssl"] != "" {
			scheme, port = "https", "15671"
		}
		prefix := strings.Trim(a.options["path-prefix"], "/")
		base = scheme + "://" + net.JoinHostPort(a.or("host", "localhost"), a.or("port", port))
		if prefix != "" {
			base += "/" + prefix
		}
		if a.options["host"]+a.options["port"] == "" {
			if address := a.Env("BARTLEBY_MANAGEMENT"); address != "" {
				base = address
			} else if a.options["ssl"]+prefix == "" {
				base = "" // the broker whose data directory is here
			}
		}
	}
	to := Target{Base: base, Username: a.option("username"), Password: a.option("password"), CACert: a.option("ssl-ca-cert-file")}
	to.Insecure = a.options["ssl-insecure"] != ""
	if to.Username == nil && a.options["password"] != "" {
		guest := "guest"
		to.Username = &guest
	}
	if a.client, err = a.Connect(to); err != nil {
		return nil, err
	}
	a.ctx, cancel = context.WithTimeout(context.Background(), time.Duration(seconds*float64(time.Second)))
	return cancel, nil
}

// option is the value of an option, nil if it was not given.
func (a *admin) option(name string) *string {
	if value, ok := a.options[name]; ok {
		return &value
	}
	return nil
}

func (a *admin) or(option, otherwise string) string {
	if value, ok := a.options[option]; ok {
		return value
	}
	return otherwise
}

// ask sends a request; what the broker does not find is told with the path.
func (a *admin) ask(method, path string, in, out any) error {
	_, err := a.client.Do(a.ctx, method, path, in, out)
	var refused *api.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Status {
	case http.StatusNotFound:
		return told("Not found: " + path)
	case http.StatusUnauthorized:
		return told("Access refused: " + path)
	}
	return err
}

// complaint words an error.
func (a *admin) complaint(err error) string {
	var refused *api.Error
	var unreachable *url.Error
	switch {
	case errors.As(err, &refused):
		return refused.Reason
	case errors.As(err, &unreachable):
		return "Could not connect: " + unreachable.Err.Error()
	}
	return err.Error()
}

// say tells people what was done.
func (a *admin) say(format string, args ...any) {
	if a.options["quiet"] == "" {
		fmt.Fprintf(a.Stdout, format+"\n", args...)
	}
}

// definitions exports to a file, or imports from it.
func (a *admin) definitions(verb string, rest []string) error {
	if len(rest) != 1 {
		return mistake("Exactly one argument required")
	}
	path := api.Path("definitions")
	if v, ok := a.options["vhost"]; ok {
		path = api.Path("definitions", v)
	}
	host := a.or("host", "localhost")
	if verb == "export" {
		var all rawJSON
		if err := a.ask(http.MethodGet, path, nil, &all); err != nil {
			return err
		}
		if err := jsonfile.Replace(rest[0], all); err != nil {
			return err
		}
		a.say("Exported definitions for %s to \"%s\"", host, rest[0])
		return nil
	}
	f, err := os.Open(rest[0])
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if !jsonfile.IsObject(string(all)) {
		return fmt.Errorf("%s is not a JSON object%s", rest[0], jsonfile.Fault(all))
	}
	if err := a.ask(http.MethodPost, path, rawJSON(all), nil); err != nil {
		return err
	}
	a.say("Uploaded definitions from \"%s\" to %s.", host, rest[0])
	return nil
}
