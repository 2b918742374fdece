package metrics

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// exposition writes a page of metrics, family by family, as Prometheus' text format or as OpenMetrics. Nothing but its
// buffer stands in memory. Source: Prometheus exposition formats; OpenMetrics 1.0.
type exposition struct {
	out  *bufio.Writer
	open bool // OpenMetrics
	line []byte
}

const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"
)

func newExposition(w io.Writer, openMetrics bool) *exposition {
	return &exposition{out: bufio.NewWriterSize(w, 64<<10), open: openMetrics}
}

// end completes the page. What could not be written before is an error now.
func (x *exposition) end() error {
	if x.open {
		x.text("# EOF\n")
	}
	return x.out.Flush()
}

// text writes to the buffer, which keeps the first error for end.
func (x *exposition) text(s string) { _, _ = x.out.WriteString(s) }

// family begins the series of one name. OpenMetrics knows a counter without the end that its series have.
func (x *exposition) family(name, kind, help string) {
	if x.open && kind == counter {
		name = strings.TrimSuffix(name, "_total")
	}
	x.text("# HELP " + name + " " + helpEscapes.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// labelled renders labels, which are name, value, name, value: {a="b",c="d"}, or nothing.
func labelled(labels ...string) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(labels); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(labels[i] + `="`)
		_, _ = labelEscapes.WriteString(&b, strings.ToValidUTF8(labels[i+1], "\uFFFD"))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

// more adds labels to those that are rendered.
func more(rendered string, labels ...string) string {
	added := labelled(labels...)
	switch {
	case rendered == "":
		return added
	case added == "":
		return rendered
	}
	return rendered[:len(rendered)-1] + "," + added[1:]
}

// series writes one series with labels that are rendered.
func (x *exposition) series(name, labels string, value float64) {
	b := append(append(x.line[:0], name...), labels...)
	b = append(appendNumber(append(b, ' '), value), '\n')
	x.line = b
	_, _ = x.out.Write(b)
}

// appendNumber writes integers as such, and all else as short as it can be read back.
func appendNumber(b []byte, value float64) []byte {
	switch {
	case value == math.Trunc(value) && math.Abs(value) < 1e15:
		return strconv.AppendInt(b, int64(value), 10)
	case math.IsNaN(value):
		return append(b, "NaN"...)
	case math.IsInf(value, 0):
		return append(b, map[bool]string{true: "+Inf", false: "-Inf"}[value > 0]...)
	}
	format := byte('g')
	if size := math.Abs(value); size >= 1e-3 && size < 1e15 {
		format = 'f'
	}
	return strconv.AppendFloat(b, value, format, -1, 64)
}

// numeric is what a value of a series may be.
type numeric interface {
	~int | ~int64 | ~uint32 | ~uint64 | ~float64
}

// add writes one series; labels are name, value, name, value.
func add[T numeric](x *exposition, name string, value T, labels ...string) {
	x.series(name, labelled(labels...), float64(value))
}

// one writes a family of one series.
func one[T numeric](x *exposition, name, kind, help string, value T) {
	x.family(name, kind, help)
	x.series(name, "", float64(value))
}

// buckets writes the series of a histogram: counts are not cumulated, and have one more than bounds for the rest.
func (x *exposition) buckets(name, labels string, bounds []float64, counts []uint64, sum float64) {
	total := uint64(0)
	for i, n := range counts {
		bound := "+Inf"
		if i < len(bounds) {
			bound = boundary(bounds[i])
		}
		total += n
		x.series(name+"_bucket", more(labels, "le", bound), float64(total))
	}
	x.series(name+"_sum", labels, sum)
	x.series(name+"_count", labels, float64(total))
}

// boundary writes a bucket's bound as dashboards look for it, in both formats: 1000.0, 1e+06, 0.25. Source:
// OpenMetrics, canonical numbers; RabbitMQ-Overview dashboard.
func boundary(bound float64) string {
	s := strconv.FormatFloat(bound, 'g', -1, 64)
	if bound >= 1e6 && !strings.Contains(s, "e") {
		s = strconv.FormatFloat(bound, 'e', -1, 64)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// thousandths are bounds in seconds of such that are in ms.
func thousandths(ms []int64) []float64 {
	all := make([]float64, len(ms))
	for i, n := range ms {
		all[i] = float64(n) / 1000
	}
	return all
}

// wholes are bounds as they are.
func wholes(n []int64) []float64 {
	all := make([]float64, len(n))
	for i, n := range n {
		all[i] = float64(n)
	}
	return all
}

// seconds is an instant as Prometheus has it.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
