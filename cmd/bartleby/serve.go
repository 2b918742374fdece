package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bartleby-mq/bartleby"
	"github.com/bartleby-mq/bartleby/internal/config"
	"github.com/bartleby-mq/bartleby/internal/logging"
)

// Exit codes. Source: sysexits; docs/compat/cli.md#4, docs/compat/configuration.md#12.
const (
	exitUsage  = 64
	exitFailed = 1
	exitConfig = 78
)

const (
	// closeWithin is how long what is under way may take when the broker stops; it may then last two seconds longer.
	closeWithin = 7 * time.Second
	// exitWithin is when the process ends in any case after it was told to stop, also while it starts: the disk may not
	// answer at all. What was confirmed is safe without a clean stop.
	exitWithin = 10 * time.Second
)

// The directories of the configuration, NAME with NAME.conf and conf.d. RabbitMQ's counts for who calls the broker so.
const (
	configDir   = "/etc/bartleby"
	rabbitMQDir = "/etc/rabbitmq"
)

// serve runs the broker until it is told to stop.
func serve(name string, args []string, stdout, stderr io.Writer) int {
	settings, code := configure(name, args, stderr)
	if settings == nil {
		return code
	}
	// shown is for who has started the broker, and so is said, which the log has too: not if the log is beside it,
	// as on a terminal.
	logged, shown := stderr, stdout
	if settings.LogToStdout {
		logged, shown = stdout, io.Discard
	}
	said := shown
	if o := &settings.Log; !o.NoConsole && max(o.ConsoleLevel, o.Levels["default"]) <= slog.LevelInfo && isSame(stdout, stderr) {
		said = io.Discard
	}
	book, err := logging.Open(settings.Log, logged)
	if err != nil {
		fmt.Fprintf(stderr, "bartleby: %v\n", err)
		return exitConfig
	}
	defer book.Close()
	log := book.Logger()
	for _, n := range settings.Notes {
		log.Log(context.Background(), n.Level, n.Text)
	}
	for _, file := range settings.Files {
		log.Info("configuration read", "file", file)
	}
	c := settings.Broker
	c.Log = log
	c.Shown = &bartleby.Shown{Settings: settings.Text, ConfigFiles: settings.Files, LogFiles: book.Files(), Book: book}
	if own, err := os.Executable(); err == nil {
		c.Shown.Tool = own
	}
	fresh := isEmpty(c.Data)
	signals := obey(stderr, exit)
	b, err := bartleby.Start(c)
	if err != nil {
		fmt.Fprintf(stderr, "bartleby: cannot start: %v\n", err)
		return exitFailed
	}
	if err := writePID(settings.PIDFile); err != nil {
		log.Warn("cannot write the pid file", "error", err)
	}
	for _, l := range b.Listeners() {
		log.Info(started(l))
		fmt.Fprintf(said, "started %s listener on %s\n", l.Protocol, l.Addr)
	}
	plugins := bartleby.Plugins()
	log.Info(fmt.Sprintf("Server startup complete; %d plugins started.\n * %s", len(plugins), strings.Join(plugins, "\n * ")))
	if settings.MOTDFile != "" {
		tellMessage(settings.MOTDFile, log, shown)
	}
	fmt.Fprintln(said, "Server startup complete")
	if where := consoleOf(&c, b.Listeners(), fresh); where != "" {
		fmt.Fprintln(shown, where)
		if settings.LogToStdout {
			log.Info(where)
		}
	}
	service := newManager()
	service.tell(notifyReady)
	op := operation{broker: b, book: book, log: log, service: service, said: said, stderr: stderr}
	code = op.wait(signals)
	if settings.PIDFile != "" {
		os.Remove(settings.PIDFile)
	}
	return code
}

// isSame reports whether both are one file, such as a terminal.
func isSame(a, b io.Writer) bool {
	one, isFile := a.(*os.File)
	two, areFiles := b.(*os.File)
	if !isFile || !areFiles {
		return false
	}
	x, err := one.Stat()
	y, wrong := two.Stat()
	return err == nil && wrong == nil && os.SameFile(x, y)
}

// isEmpty reports whether there is no data yet.
func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// consoleOf says where the web console is, and who may log in if the broker is new and has its usual first user; "" if
// there is no console.
func consoleOf(c *bartleby.Config, all []bartleby.Listener, fresh bool) string {
	i := slices.IndexFunc(all, func(l bartleby.Listener) bool { return l.Protocol == "http" || l.Protocol == "https" })
	if i < 0 {
		return ""
	}
	host, port, err := net.SplitHostPort(all[i].Addr.String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	told := "Console: " + all[i].Protocol + "://" + net.JoinHostPort(host, port) + c.Web.PathPrefix
	usual := fresh && c.LoadDefinitions == "" // whoever loads definitions has the users that they name
	if first := cmp.Or(c.First, bartleby.DefaultFirst()); usual && first.User == "guest" && first.Password == "guest" {
		told += " (user guest, password guest)"
	}
	return told
}

// configure reads all that was configured; nothing, and the exit code, if there is nothing to run.
func configure(name string, args []string, stderr io.Writer) (*config.Settings, int) {
	flags := flag.NewFlagSet("bartleby serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	from := config.Sources{Usual: []string{configDir}, Environ: os.Environ()}
	if name == "rabbitmq-server" {
		from.Usual = append(from.Usual, rabbitMQDir)
	}
	flags.StringVar(&from.File, "config", "", "configuration `file` with one 'key = value' per line, like rabbitmq.conf")
	config.Options(flags, &from.Options)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, 0
	} else if err != nil {
		return nil, exitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "bartleby serve: unexpected argument %q\n", flags.Arg(0))
		return nil, exitUsage
	}
	settings, err := config.Load(from)
	if err != nil {
		complain(stderr, err)
		return nil, exitConfig
	}
	return settings, 0
}

// complain tells all mistakes, one on a line.
func complain(stderr io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(stderr, "bartleby: configuration: %s\n", line)
	}
}

// started words a listener as RabbitMQ does.
func started(l bartleby.Listener) string {
	port := ""
	if tcp, ok := l.Addr.(*net.TCPAddr); ok {
		port = strconv.Itoa(tcp.Port)
	}
	switch l.Protocol {
	case "amqp":
		return "started TCP listener on " + l.Addr.String()
	case "amqp/ssl":
		return "started TLS (SSL) listener on " + l.Addr.String()
	case "http":
		return "Management plugin: HTTP (non-TLS) listener started on port " + port
	case "https":
		return "Management plugin: HTTPS listener started on port " + port
	case "http/prometheus":
		return "Prometheus metrics: HTTP (non-TLS) listener started on port " + port
	}
	return "Prometheus metrics: HTTPS listener started on port " + port
}

func writePID(path string) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
}

// tellMessage shows the message of the day. Source: RabbitMQ motd_file.
func tellMessage(path string, log *slog.Logger, said io.Writer) {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Warn("cannot read the message of the day", "error", err)
		return
	}
	fmt.Fprintln(said, strings.TrimRight(string(text), "\n"))
}

// obey yields the signals that the process gets from now on: one that comes during the start is obeyed after it. From
// the first that tells it to stop the process has exitWithin.
func obey(stderr io.Writer, exit func(code int)) <-chan os.Signal {
	got, signals := make(chan os.Signal, 4), make(chan os.Signal, 4)
	signal.Notify(got, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for s := range got {
			if s != syscall.SIGHUP {
				time.AfterFunc(exitWithin, func() { tooLate(stderr, exit) })
			}
			select {
			case signals <- s:
			default: // nobody listens to so many
			}
		}
	}()
	return signals
}

// tooLate ends a process that has not stopped in time.
func tooLate(stderr io.Writer, exit func(code int)) {
	fmt.Fprintf(stderr, "bartleby: shutdown did not finish within %v of the signal, for example because a disk does not respond: "+
		"the process exits now. Confirmed messages are on disk; unconfirmed messages may be lost. The next start takes longer\n", exitWithin)
	exit(exitFailed)
}

// exit is how a process ends that cannot stop.
var exit = os.Exit

// operation is a broker that runs, with what it says.
type operation struct {
	broker       *bartleby.Broker
	book         *logging.Book
	log          *slog.Logger
	service      manager
	said, stderr io.Writer
}

// wait serves until a signal comes, or the broker cannot go on; a second signal ends at once.
func (o *operation) wait(signals <-chan os.Signal) int {
	failed := o.untilEnd(signals)
	o.log.Info("Stopping")
	fmt.Fprintln(o.said, "Stopping")
	o.service.tell(notifyStopping)
	closed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		closed <- o.broker.Close(ctx)
	}()
	for {
		select {
		case err := <-closed:
			if err != nil {
				o.log.Error("not stopped cleanly", "error", err)
				fmt.Fprintf(o.stderr, "bartleby: not stopped cleanly: %v\n", err)
				return exitFailed
			}
			o.log.Info("Stopped")
			fmt.Fprintln(o.said, "Stopped")
			if failed {
				return exitFailed
			}
			return 0
		case s := <-signals:
			if s == syscall.SIGHUP {
				continue
			}
			fmt.Fprintln(o.stderr, "bartleby: killed by a second signal")
			return exitFailed
		}
	}
}

// untilEnd returns when the broker shall stop, or has to.
func (o *operation) untilEnd(signals <-chan os.Signal) (failed bool) {
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGHUP {
				return false
			}
			go o.reload() // the file systems of certificates and log may not answer
		case err := <-o.broker.Failed():
			fmt.Fprintf(o.stderr, "bartleby: fatal error: %v\n", err)
			return true
		}
	}
}

// reload reads certificates again and opens the log's file anew.
func (o *operation) reload() {
	if err := o.book.Reopen(); err != nil {
		o.log.Error("cannot reopen the log file", "error", err)
	}
	if err := o.broker.Reload(); err != nil {
		o.log.Error("cannot read the certificates; the old certificates stay in use", "error", err)
		return
	}
	o.log.Info("certificates reloaded and log file reopened")
}
