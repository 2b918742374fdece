package stats

import (
	"runtime"
	"runtime/metrics"
)

func GoVersion() string { return runtime.Version() }

// scarceShare of the files that the process may open is when rules and people want to know.
const scarceShare = 0.95

// Scarce reports whether hardly any more files can be opened.
func (f files) Scarce() bool { return f.Most > 0 && float64(f.Open) > scarceShare*float64(f.Most) }

// A runtimeReading has the metrics of the Go runtime.
type runtimeReading map[string]float64

func (r runtimeReading) At(name string) float64 { return r[name] }

// ReadRuntime reads what metrics show, without stopping anything.
func ReadRuntime() runtimeReading {
	names := []string{
		"/sched/goroutines:goroutines", "/sched/goroutines/runnable:goroutines", "/sched/threads/total:threads", "/gc/cycles/total:gc-cycles",
		"/gc/heap/frees:bytes", "/gc/heap/allocs:bytes", "/gc/heap/goal:bytes", "/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/stacks:bytes", "/memory/classes/os-stacks:bytes", "/memory/classes/metadata/other:bytes",
		"/memory/classes/total:bytes", "/cpu/classes/gc/total:cpu-seconds",
	}
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	r := runtimeReading{}
	for _, x := range samples {
		switch x.Value.Kind() {
		case metrics.KindUint64:
			r[x.Name] = float64(x.Value.Uint64())
		case metrics.KindFloat64:
			r[x.Name] = x.Value.Float64()
		}
	}
	return r
}
