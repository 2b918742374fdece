package amqp

import "testing"

func TestHotPathsDoNotAllocate(t *testing.T) {
	// If it fails, every message published costs the garbage collector.
	raw := []byte(everyPropertyWire)
	headers := AppendTable(nil, Table{{"CC", Array(String("a"))}, {"x-delay", Int32(5)}})
	everything := everyProperty()
	room := make([]byte, 0, 512)
	var failed error
	for name, f := range map[string]func(){
		"scan": func() {
			var s PropertyScan
			if err := s.Scan(raw); err != nil {
				failed = err
			}
		},
		"lookup absent": func() {
			if _, _, err := LookupField(headers, "BCC"); err != nil {
				failed = err
			}
		},
		"lookup integer": func() {
			if _, _, err := LookupField(headers, "x-delay"); err != nil {
				failed = err
			}
		},
		"append": func() { AppendProperties(room, &everything) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 || failed != nil {
			t.Errorf("%s: %v allocations, %v", name, n, failed)
		}
	}
}

func BenchmarkPropertyScan(b *testing.B) {
	for name, raw := range map[string]string{
		"persistent": "\x10\x00\x02",
		"every":      everyPropertyWire,
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(raw)
			b.ReportAllocs()
			for b.Loop() {
				var s PropertyScan
				if err := s.Scan(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
