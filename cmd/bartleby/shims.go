package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bartleby-mq/bartleby/internal/cli"
)

// installShims puts links to this binary under the names of RabbitMQ's tools into a directory. What is there already
// and is not such a link stays, unless it is forced: it may be RabbitMQ's own.
func installShims(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bartleby install-shims", flag.ContinueOnError)
	flags.SetOutput(stderr)
	force := flags.Bool("force", false, "replace existing files")
	remove := flags.Bool("remove", false, "remove the links instead")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "bartleby install-shims [options] DIR creates links to this binary in DIR, under these names:\n")
		for _, name := range shimNames() {
			fmt.Fprintf(stderr, "  %s\n", name)
		}
		flags.PrintDefaults()
	}
	dir, code := oneDirectory(flags, args, stderr)
	if dir == "" {
		return code
	}
	binary, err := os.Executable()
	if err == nil {
		binary, err = filepath.EvalSymlinks(binary)
	}
	if err == nil && !*remove {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintf(stderr, "bartleby: %v\n", err)
		return exitFailed
	}
	failed := false
	for _, name := range shimNames() {
		s := shim{path: filepath.Join(dir, name), binary: binary}
		var done string
		if *remove {
			done, err = s.remove()
		} else {
			done, err = s.install(*force)
		}
		if err != nil {
			failed = true
			fmt.Fprintf(stderr, "bartleby: %v\n", err)
			continue
		}
		fmt.Fprintf(stdout, "%s: %s\n", s.path, done)
	}
	if failed {
		return exitFailed
	}
	return 0
}

// shimNames are the names that the binary obeys besides its own.
func shimNames() []string { return append(cli.Tools(), "rabbitmq-server") }

// oneDirectory parses the arguments, options before or behind the directory; without one, the exit code counts.
func oneDirectory(flags *flag.FlagSet, args []string, stderr io.Writer) (dir string, code int) {
	for rest := args; ; rest = flags.Args()[1:] {
		if err := flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			return "", 0
		} else if err != nil {
			return "", exitUsage
		}
		if flags.NArg() == 0 {
			break
		}
		if dir != "" {
			fmt.Fprintf(stderr, "%s: unexpected argument %q\n", flags.Name(), flags.Arg(0))
			return "", exitUsage
		}
		dir = flags.Arg(0)
	}
	if dir == "" {
		flags.Usage()
	}
	return dir, exitUsage
}

// A shim is a link to the binary under another name; on Windows, where links are for administrators, a batch file.
type shim struct{ path, binary string }

// ours reports whether what has the name is a shim, of this binary or of another place of it; there reports whether
// anything has it.
func (s shim) ours() (ours, there bool) {
	if runtime.GOOS == "windows" {
		b, err := os.ReadFile(s.file())
		return string(b) == s.batch(), err == nil
	}
	target, err := os.Readlink(s.path)
	if err != nil {
		_, err = os.Lstat(s.path)
		return false, err == nil
	}
	return target == s.binary || filepath.Base(target) == filepath.Base(s.binary), true
}

func (s shim) file() string {
	if runtime.GOOS == "windows" {
		return s.path + ".bat"
	}
	return s.path
}

// batch calls the binary as the tool: a batch file has no argv[0] of its own to hand on.
func (s shim) batch() string {
	return fmt.Sprintf("@\"%s\" as %s %%*\r\n", s.binary, filepath.Base(s.path))
}

func (s shim) install(force bool) (done string, err error) {
	ours, there := s.ours()
	if there && !ours && !force {
		return "", fmt.Errorf("%s exists and is not a link to this binary; use --force to replace it", s.file())
	}
	if there {
		if err := os.Remove(s.file()); err != nil {
			return "", err
		}
	}
	if runtime.GOOS == "windows" {
		return "installed", os.WriteFile(s.file(), []byte(s.batch()), 0o755)
	}
	return "installed", os.Symlink(s.binary, s.path)
}

func (s shim) remove() (done string, err error) {
	ours, there := s.ours()
	if !there {
		return "does not exist", nil
	}
	if !ours {
		return "", fmt.Errorf("%s is not a link to this binary; not removed", s.file())
	}
	if err := os.Remove(s.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return "removed", nil
}
