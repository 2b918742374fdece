package repair

import (
	"fmt"
	"io"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/fullwidth"
	"github.com/bartleby-mq/bartleby/internal/vhost"
)

// Print writes the report for people, and what can be done: dir is the data directory.
func (r *Report) Print(w io.Writer, dir string) error {
	var b strings.Builder
	switch r.State {
	case Repaired:
		fmt.Fprintf(&b, "%s: repaired; the damaged files are in %s\n\n", dir, r.Aside)
		r.Before.printLosses(&b)
		b.WriteString("Contents now:\n\n")
	default:
		fmt.Fprintf(&b, "%s: %s\n\n", dir, r.State)
	}
	r.print(&b)
	if r.State == Damaged && r.Before == nil {
		fmt.Fprintf(&b, "What 'bartleby repair %s' does:\n", dir)
		for i, s := range r.Steps {
			fmt.Fprintf(&b, "  %d. %s\n", i+1, s)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A table is rows of cells, in columns as wide as the widest cell. text/tabwriter takes all characters to be equally
// wide.
type table [][]string

// row adds a row, its cells separated by tabs.
func (t *table) row(format string, args ...any) {
	*t = append(*t, strings.Split(fmt.Sprintf(format, args...), "\t"))
}

// print writes the rows, and takes them out.
func (t *table) print(b *strings.Builder) {
	var widths []int
	for _, cells := range *t {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], fullwidth.Columns(c))
		}
	}
	for _, cells := range *t {
		last := len(cells) - 1
		for i, c := range cells[:last] {
			b.WriteString(c + strings.Repeat(" ", widths[i]+2-fullwidth.Columns(c)))
		}
		b.WriteString(cells[last] + "\n")
	}
	*t = nil
}

// print writes what is there, and what of it is damaged.
func (r *Report) print(b *strings.Builder) {
	j := &r.Journal
	fmt.Fprintf(b, "Journal: %d segments, %s, of which %s are needed; %d of them rewritten; %d spares, %s; checkpoints %s\n",
		j.Segments, size(j.SegmentBytes), size(j.LiveBytes), j.Rewritten, j.Spares, size(j.SpareBytes), size(j.CheckpointBytes))
	var t table
	t.row("  segment\tkind\tstate\tbatches\tused\tof\tneeded")
	for _, s := range r.Segments {
		t.row("  %s\t%s\t%s\t%d\t%s\t%s\t%s", s.File, s.Kind, s.State, s.Batches, size(s.UsedBytes), size(s.Bytes), size(s.LiveBytes))
	}
	t.print(b)
	fmt.Fprintf(b, "\nUsers and permissions: %s; users: %d\n", r.Users.State, r.Users.Users)
	t.row("  virtual host\tstate\tstarts\tqueues\tmessages\tbytes\theld\twaiting\tscheduled\tlost letters")
	for i := range r.VHosts {
		h := &r.VHosts[i]
		t.row("  %s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%d\t%d",
			h.Name, h.State, yes(h.Starts), h.Queues, h.Messages, size(h.Bytes), h.Held, h.Waiting, h.Scheduled, h.LostLetters)
	}
	t.print(b)
	b.WriteString("\n")
	if len(r.Damage) > 0 {
		b.WriteString("Damage:\n")
	}
	for _, d := range r.Damage {
		fmt.Fprintf(b, "  %s, offset %d, %d bytes: %s\n", d.File, d.Offset, d.Bytes, d.What)
		if len(d.Batches) > 0 {
			fmt.Fprintf(b, "    affected: %s\n", strings.Join(d.Batches, ", "))
		}
		for _, m := range d.Meaning {
			fmt.Fprintf(b, "    %s\n", m)
		}
	}
	if len(r.Damage) > 0 {
		b.WriteString("\n")
	}
	r.printLosses(b)
	for _, n := range r.Notes {
		fmt.Fprintf(b, "Note: %s\n", n)
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n")
	}
}

// printLosses lists what is lost.
func (r *Report) printLosses(b *strings.Builder) {
	if r.State == Sound || r.State == Repaired && r.Losses() == 0 {
		return
	}
	if r.Losses() == 0 {
		b.WriteString("Nothing is lost.\n\n")
		return
	}
	if len(r.Users.Lost) > 0 {
		b.WriteString("Lost of users and virtual hosts:\n")
		for _, l := range r.Users.Lost {
			fmt.Fprintf(b, "  %s\n", l)
		}
		b.WriteString("\n")
	}
	forgets := false
	for i := range r.VHosts {
		h := &r.VHosts[i]
		if len(h.Lost) == 0 {
			continue
		}
		fmt.Fprintf(b, "Lost in virtual host %q:\n", h.Name)
		for lost := h.Lost; len(lost) > 0; {
			n := neighbours(lost)
			if n > 1 {
				fmt.Fprintf(b, "  messages %d to %d%s of %s: the first, %s\n", lost[0].Number, lost[n-1].Number, ofPriority(lost[0].Priority), queueOf(&lost[0]), lost[0].Why)
			} else {
				fmt.Fprintf(b, "  %s\n", lost[0].Text)
			}
			forgets = forgets || lost[0].Batch > 0
			lost = lost[n:]
		}
		b.WriteString("\n")
	}
	if forgets {
		b.WriteString("Batches also record which messages ended. Messages that ended in a lost batch are in their queues again.\n\n")
	}
}

// neighbours counts the single messages at the beginning that follow each other in a queue, if they are so many that it
// is not worth while to say what is known of each: the JSON has it.
func neighbours(lost []Lost) int {
	const most = 8
	n := 1
	for n < len(lost) && lost[n].Kind == vhost.LossOfRecord && lost[0].Kind == vhost.LossOfRecord && lost[n].Queue == lost[0].Queue &&
		lost[n].LostLetters == lost[0].LostLetters && lost[n].Priority == lost[0].Priority && lost[n].Number == lost[n-1].Number+1 {
		n++
	}
	if n <= most {
		return 1
	}
	return n
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// size renders a number of bytes.
func size(n int64) string {
	const unit = 1024
	if n < 10*unit {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n)/unit, 0
	for v >= 10*unit && u < 3 {
		v, u = v/unit, u+1
	}
	return fmt.Sprintf("%.0f %s", v, []string{"KiB", "MiB", "GiB", "TiB"}[u])
}
