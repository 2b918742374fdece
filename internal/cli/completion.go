package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
	"github.com/bartleby-mq/bartleby/internal/cli/node"
	"github.com/bartleby-mq/bartleby/internal/cli/output"
	"github.com/bartleby-mq/bartleby/internal/cli/policies"
)

// completeWord is the hidden command behind which the scripts of shells put what has been typed so far, the word that
// is being typed last; an empty one if it has not begun.
const completeWord = "__complete"

// completePatience is how long a broker has to tell names. Who presses a key does not wait longer.
const completePatience = time.Second

// scripts are what shells load: each asks the program itself, so that it never lags behind. %[1]s is the program, %[2]s
// a name for functions.
var scripts = map[string]string{
	"bash": `# bash completion for %[1]s: eval "$(%[1]s completion bash)"
_%[2]s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$(printf '%%q' "$line")")
    done < <(%[1]s __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _%[2]s %[1]s
`,
	"zsh": `#compdef %[1]s
# zsh completion for %[1]s: a file _%[1]s in a directory of $fpath, or eval "$(%[1]s completion zsh)"
_%[2]s() {
    local -a found
    found=("${(@f)$(%[1]s __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n "$found" ]] && compadd -- "${found[@]}" || _files
}
compdef _%[2]s %[1]s
`,
	"fish": `# fish completion for %[1]s: %[1]s completion fish | source
function __%[2]s
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found (%[1]s __complete $typed[2..-1] "$current" 2>/dev/null)
    if set -q found[1]
        printf '%%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c %[1]s -f -a '(__%[2]s)'
`,
}

func completionHelp() string {
	return `To load it:

   bash   eval "$(rabbitmqctl completion bash)", or a file in /etc/bash_completion.d
   zsh    eval "$(rabbitmqctl completion zsh)", or a file _rabbitmqctl in a directory of $fpath
   fish   rabbitmqctl completion fish > ~/.config/fish/completions/rabbitmqctl.fish

The names of queues, exchanges, virtual hosts, users and policies come from the broker, if it responds within a second.
'bartleby completion bash' does the same for the commands of bartleby and of 'bartleby ctl'.`
}

// Completion is the script that completes the words of a program in a shell: bash, zsh or fish.
func Completion(shell, program string) (script string, ok bool) {
	script, ok = scripts[shell]
	if !ok {
		return "", false
	}
	return fmt.Sprintf(script, program, strings.NewReplacer("-", "_", " ", "_").Replace(program)), true
}

func completion(c *command.Call) error {
	program, _, _ := strings.Cut(c.Program, " ") // 'bartleby ctl' is completed with bartleby
	script, ok := Completion(c.Args[0], program)
	if !ok {
		return c.Invalid(fmt.Sprintf("shell '%s' not recognised; should be one of: bash, zsh, fish", c.Args[0]))
	}
	_, err := io.WriteString(c.Stdout, script)
	return err
}

// autocomplete lists commands. Source: RabbitMQ rabbitmqctl autocomplete.
func autocomplete(c *command.Call) error {
	prefix := strings.Join(c.Args, "")
	for _, name := range commandNames(c) {
		if strings.HasPrefix(name, prefix) {
			fmt.Fprintln(c.Stdout, name)
		}
	}
	return nil
}

// complete prints what the last of the typed words may become, one a line.
func complete(c *command.Call, typed []string) error {
	if len(typed) == 0 {
		typed = []string{""}
	}
	current, before := typed[len(typed)-1], typed[:len(typed)-1]
	c.Options, _ = command.Parse(before) // what is wrong with them is told when they are run
	if len(c.Options.Args) > 0 {
		c.Command, c.Args, _ = findTyped(c, c.Options.Args)
	}
	c.Timeout = completePatience
	ctx, cancel := context.WithTimeout(context.Background(), completePatience)
	defer cancel()
	c.Ctx, c.Stderr = ctx, io.Discard
	for _, candidate := range candidates(c, before, current) {
		if strings.HasPrefix(candidate, current) {
			fmt.Fprintln(c.Stdout, candidate)
		}
	}
	return nil
}

func candidates(c *command.Call, before []string, current string) []string {
	if len(before) > 0 {
		last := before[len(before)-1]
		if o, _, glued, ok := command.ReadOption(last); ok && strings.HasPrefix(last, "-") && o.Valued() && !glued {
			return values(c, o.Value)
		}
	}
	switch {
	case strings.HasPrefix(current, "-"):
		return optionNames(c)
	case c.Command.Name == "":
		return commandNames(c)
	}
	return values(c, argumentKind(c))
}

func commandNames(c *command.Call) []string {
	var names []string
	for _, cmd := range commands() {
		if cmd.Tools&c.Tool != 0 {
			names = append(names, cmd.Name)
		}
	}
	return append(names, "help")
}

func optionNames(c *command.Call) []string {
	var names []string
	for _, o := range command.KnownOptions() {
		if o.About != "" && (o.Global || c.Command.Takes(o.Name)) {
			names = append(names, "--"+o.Name)
		}
	}
	return names
}

// argumentKind is what the usage of the command calls the argument that is next.
func argumentKind(c *command.Call) string {
	usage := regexp.MustCompile(`\[-[^\]]*\]|\(-[^)]*\)`).ReplaceAllString(c.Command.Usage, "")
	kinds := regexp.MustCompile(`<([^>]*)>`).FindAllStringSubmatch(usage, -1)
	switch {
	case len(kinds) == 0:
		return ""
	case len(c.Args) < len(kinds):
		return kinds[len(c.Args)][1]
	case c.Command.Most == command.Unbounded:
		return kinds[len(kinds)-1][1]
	}
	return ""
}

// values lists what may stand for a kind of argument, or of option's value.
func values(c *command.Call, kind string) []string {
	switch kind {
	case "formatter":
		return output.Formats()
	case "apply-to":
		return command.AppliesTo()
	case "tag":
		return []string{"administrator", "impersonator", "management", "monitoring", "policymaker"}
	case "plugin":
		return node.BuiltIn()
	case "level":
		return []string{"debug", "info", "warning", "error", "critical", "none"}
	case "shell":
		return []string{"bash", "zsh", "fish"}
	case "column":
		if c.Command.More == nil {
			return nil
		}
		_, names, _ := strings.Cut(c.Command.More(), "Columns: ")
		names, _, _ = strings.Cut(names, "\n")
		return strings.Fields(names)
	case "vhost":
		return namesAt(c, "vhosts")
	case "username":
		return namesAt(c, "users")
	case "queue", "exchange":
		return namesAt(c, kind+"s", c.VHost())
	case "connection":
		return namesAt(c, "connections")
	case "name":
		if strings.Contains(c.Command.Name, "polic") {
			return namesAt(c, policies.Segment(c), c.VHost())
		}
		if strings.Contains(c.Command.Name, "vhost_option") {
			var names []string
			for _, o := range api.VHostOptions {
				names = append(names, o.Name)
			}
			return names
		}
		if c.Command.Name == "enable_feature_flag" {
			return append(namesAt(c, "feature-flags"), "all")
		}
	}
	return nil
}

// namesAt asks the broker for names; none if it does not tell.
func namesAt(c *command.Call, path ...string) []string {
	if c.Connect() != nil {
		return nil
	}
	var rows []struct{ Name string }
	if _, err := c.Client.Do(c.Ctx, "GET", api.Path(path...)+"?columns=name", nil, &rows); err != nil {
		return nil
	}
	var names []string
	for _, r := range rows {
		if r.Name != "" {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}
