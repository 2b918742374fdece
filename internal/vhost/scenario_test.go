package vhost

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/deadline"
	"github.com/bartleby-mq/bartleby/internal/storage"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

var update = flag.Bool("update", false, "rewrite what the scenario files expect")

// TestScenarios says which rule of the machine has changed: each file is one, told as a story.
//
// A file begins with comments: the rule in a sentence, and its source. Then come blocks:
//
//	commands, one a line: they are one batch
//	----
//	facts and effects, in order; a blank line ends them
//
// A block that begins with "given" expects only that nothing is refused. Verbs beside those of a line:
//
//	advance 1s        time passes; what becomes due happens at its instant
//	restart           a new machine applies the log, or, "restart snapshot", a snapshot of the old one
//	show              queues and books
//	typed             headers in full, with their wire types, in this block
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := play(string(want))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s: what happened is not what was expected (-update rewrites it)\n%s", file, lineDifference(got, string(want)))
			}
		})
	}
}

// lineDifference shows the first line that differs, with what comes after it on both sides.
func lineDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	clip := func(s []string) string { return strings.Join(s[min(i, len(s)):min(i+8, len(s))], "\n  ") }
	return fmt.Sprintf("line %d\ngot\n  %s\nwant\n  %s", i+1, clip(g), clip(w))
}

// scenario is one file being played.
type scenario struct {
	world    *world
	queues   map[fact.QueueID]string
	channels []string // by ChannelID-1
	conns    map[string]fact.ConnID
	connMax  fact.ConnID
	given    bool
	typed    bool
	out      strings.Builder // what the block led to
}

// play runs a file and returns it with what really happened.
func play(text string) (string, error) {
	sc := &scenario{world: newWorld(), queues: map[fact.QueueID]string{}, conns: map[string]fact.ConnID{}}
	var result strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "# ") || !strings.Contains(text, "Source: ") {
		return "", fmt.Errorf("a scenario begins with its rule and the rule's source")
	}
	for i := 0; i < len(lines); {
		if l := lines[i]; l == "" || strings.HasPrefix(l, "#") {
			result.WriteString(l + "\n")
			i++
			continue
		}
		end := i
		for end < len(lines) && lines[end] != "----" && lines[end] != "" {
			end++
		}
		if err := sc.block(lines[i:end]); err != nil {
			return "", fmt.Errorf("line %d: %w", i+1, err)
		}
		result.WriteString(strings.Join(lines[i:end], "\n") + "\n----\n" + sc.out.String())
		for i = end; i < len(lines) && lines[i] != ""; {
			i++
		}
	}
	return result.String(), sc.world.checkNamed()
}

// block runs commands as one batch, writes down what they led to, and audits the machine.
func (sc *scenario) block(lines []string) error {
	sc.out.Reset()
	sc.given, sc.typed = false, false
	for _, text := range lines {
		if err := sc.line(text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	sc.end("")
	if sc.given {
		if strings.Contains(sc.out.String(), "closed ") {
			return fmt.Errorf("refused: %s", sc.out.String())
		}
		sc.out.Reset()
		sc.out.WriteString("ok\n")
	}
	return sc.world.audit()
}

func (sc *scenario) line(text string) error {
	l, err := parseLine(text)
	if err != nil {
		return err
	}
	switch l.verb {
	case "given":
		sc.given = true
	case "typed":
		sc.typed = true
	case "connect":
		return sc.connect(l.operand(0), l)
	case "advance":
		sc.end("")
		d, err := time.ParseDuration(l.operand(0))
		if err != nil {
			return err
		}
		return sc.advance(deadline.Instant(d.Milliseconds()))
	case "restart":
		sc.end("")
		var snapshot []byte
		if l.operand(0) == "snapshot" {
			snapshot = sc.world.v.snapshot()
		}
		sc.channels = slices.Repeat([]string{"gone"}, len(sc.channels))
		clear(sc.conns)
		return sc.world.restart(snapshot)
	case "show":
		sc.end("")
		sc.show()
	default:
		return sc.command(l)
	}
	return nil
}

func (sc *scenario) command(l *line) error {
	var c Command
	var err error
	switch l.verb {
	case "disconnect", "written", "stop-deliveries":
		c, err = l.command(sc.conns[l.operand(0)], 0)
	case "policy", "clear-policy", "options":
		c, err = l.command(0, 0)
	default:
		var channel ChannelID
		if channel, err = sc.channel(l.channel); err != nil {
			return err
		}
		c, err = l.command(sc.conns[l.channel[:1]], channel)
	}
	if err != nil {
		return err
	}
	refused, err := sc.world.step(c)
	if refused != nil && c.Channel == 0 {
		fmt.Fprintf(&sc.out, "refused %d %s\n", refused.Code, strings.ReplaceAll(refused.Text, "\n", `\n`))
	}
	if refused != nil || c.Kind == CloseChannel {
		sc.forget(c.Channel)
	}
	if c.Kind == Disconnect {
		delete(sc.conns, l.operand(0))
		for i, name := range sc.channels {
			if strings.HasPrefix(name, l.operand(0)) {
				sc.forget(ChannelID(i + 1))
			}
		}
	}
	return err
}

// channel finds an open channel by name, or opens it.
func (sc *scenario) channel(name string) (ChannelID, error) {
	if i := slices.Index(sc.channels, name); i >= 0 {
		return ChannelID(i + 1), nil
	}
	conn := name[:1]
	if sc.conns[conn] == 0 {
		if err := sc.connect(conn, &line{}); err != nil {
			return 0, err
		}
	}
	number, _ := strconv.Atoi(name[1:])
	sc.channels = append(sc.channels, name)
	id := ChannelID(len(sc.channels))
	_, err := sc.world.step(Command{Kind: OpenChannel, Conn: sc.conns[conn], Channel: id, Number: uint16(max(number, 1))})
	return id, err
}

// forget lets the next use of the channel's name open a new one.
func (sc *scenario) forget(c ChannelID) {
	if c > 0 {
		sc.channels[c-1] += "'"
	}
}

func (sc *scenario) channelName(c ChannelID) string {
	if c == 0 {
		return "-"
	}
	return strings.TrimRight(sc.channels[c-1], "'")
}

func (sc *scenario) connect(name string, l *line) error {
	window := int64(1 << 20)
	if l.has("window") {
		window = l.number("window")
	}
	sc.connMax++
	sc.conns[name] = sc.connMax
	_, err := sc.world.step(Command{Kind: Connect, Conn: sc.conns[name], Window: window, Definition: &Definition{
		Name: name, User: l.text("user"), CancelNotify: l.has("notify"),
	}})
	return err
}

// advance lets time pass: each deadline is met at its instant, not before and not after.
func (sc *scenario) advance(d deadline.Instant) error {
	w := sc.world
	target := w.now + d
	for {
		at, ok := w.v.Due()
		if !ok || at > target {
			break
		}
		w.now = max(w.now, at)
		if _, err := w.step(Command{Kind: Tick}); err != nil {
			return err
		}
		sc.end("at " + seconds(w.now))
	}
	w.now = target
	return nil
}

// end seals the batch and writes down its facts and effects, under a title if there are any.
func (sc *scenario) end(title string) {
	w := sc.world
	w.seal()
	var lines []string
	for i := range w.out.Facts {
		lines = append(lines, sc.fact(&w.out.Facts[i]))
	}
	for i := range w.out.Effects {
		if e := &w.out.Effects[i]; e.Kind != Done || e.Command != OpenChannel {
			lines = append(lines, sc.effect(e))
		}
	}
	if len(lines) > 0 && title != "" {
		lines = append([]string{title}, lines...)
	}
	for _, l := range lines {
		sc.out.WriteString(l + "\n")
	}
	w.begin()
}

// show prints what is in the queues, and the books.
func (sc *scenario) show() {
	v := sc.world.v
	for _, q := range v.Reader().Queues() {
		fmt.Fprintf(&sc.out, "%s ready=%d unacked=%d consumers=%d", q.Name, q.Ready, q.Unacked, q.Consumers)
		if q.Waiting > 0 {
			fmt.Fprintf(&sc.out, " waiting=%d", q.Waiting)
		}
		if q.Held > 0 {
			fmt.Fprintf(&sc.out, " held=%d", q.Held)
		}
		if q.Policy != "" {
			fmt.Fprintf(&sc.out, " policy=%s", q.Policy)
		}
		if q.OperatorPolicy != "" {
			fmt.Fprintf(&sc.out, " operator=%s", q.OperatorPolicy)
		}
		if q.SingleActiveTag != "" {
			fmt.Fprintf(&sc.out, " active=%s", q.SingleActiveTag)
		}
		sc.out.WriteString("\n")
	}
	sc.showSchedules()
	v.Reader().LostLetters(0, func(l LostLetter) bool {
		fmt.Fprintf(&sc.out, "lost %d %s", l.ID, l.Cause)
		if len(l.History.Deaths) > 0 {
			fmt.Fprintf(&sc.out, " of %s", l.History.Deaths[0].Queue)
		}
		if l.Target != "" {
			fmt.Fprintf(&sc.out, " for %s", l.Target)
		}
		fmt.Fprintf(&sc.out, " to %s:%s\n", l.History.Exchange, strings.Join(l.History.Keys, ","))
		return true
	})
	books := v.Reader().Books()
	sc.showJobs()
	fmt.Fprintf(&sc.out, "books made=%d", books.Made)
	for c, n := range books.Ended {
		if n > 0 {
			fmt.Fprintf(&sc.out, " %s=%d", fact.Cause(c), n)
		}
	}
	sc.out.WriteString("\n")
}

// showSchedules prints what waits in delayed exchanges, in the order in which it fires.
func (sc *scenario) showSchedules() {
	for _, x := range sc.world.v.Reader().Schedules() {
		fmt.Fprintf(&sc.out, "schedule %d of %s messages=%d bytes=%d", x.ID, x.Exchange, x.Messages, x.Bytes)
		if x.Orphan {
			sc.out.WriteString(" orphan")
		}
		sc.out.WriteString("\n")
		l := sc.world.v.Reader().ListScheduled(x.Exchange, ScheduledMessage{}, math.MaxInt64, x.Messages)
		sc.world.v.Reader().ListSome(l, math.MaxInt)
		for _, m := range l.Messages() {
			fmt.Fprintf(&sc.out, "  %s at %s\n", m.ID, seconds(m.At))
		}
	}
}

// testRecords is a machine's records where there are none.
type testRecords struct{}

func (testRecords) Record(storage.Ref) []byte { return nil }

// Head implements storage.Records.
func (testRecords) Head(storage.Ref, int) []byte { return nil }

// properties encodes what most tests publish with.
func properties(mode uint8, headers amqp.Table) []byte {
	p := amqp.Properties{Has: amqp.FlagDeliveryMode, DeliveryMode: mode}
	if headers != nil {
		p.Has, p.Headers = p.Has|amqp.FlagHeaders, headers
	}
	return amqp.AppendProperties(nil, &p)
}
