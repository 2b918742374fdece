package stats

// The figures of a connection that are remembered; a virtual host's are those of its connections.
const (
	AtReceived = iota // bytes
	AtSent
	dataFigures
)

// wires are what is remembered of bytes on connections. What a connection moved after the last reading before its end
// is not counted.
type wires struct {
	connections map[string]*wire
	vhosts      map[string]*hostWire
}

// A wire is a connection's bytes.
type wire struct {
	history
	vhost string
	bytes [dataFigures]uint64
}

// A hostWire is the bytes of all connections to a virtual host.
type hostWire struct {
	history
	ended [dataFigures]uint64 // of connections that are no more
}

// note reads the live connections.
func (t *wires) note(now int64, all []Connection) {
	if t.connections == nil {
		t.connections, t.vhosts = map[string]*wire{}, map[string]*hostWire{}
	}
	sums := map[string][dataFigures]uint64{}
	for i := range all {
		c := &all[i]
		w := t.connections[c.Name]
		if w == nil {
			w = &wire{}
			t.connections[c.Name] = w
		}
		w.vhost, w.bytes = c.VHost, [dataFigures]uint64{c.Received, c.Sent}
		w.note(now, w.bytes[:], WireKept)
		sum := sums[c.VHost]
		sum[AtReceived], sum[AtSent] = sum[AtReceived]+c.Received, sum[AtSent]+c.Sent
		sums[c.VHost] = sum
	}
	for name, w := range t.connections {
		if w.last != now {
			h := t.host(w.vhost)
			for f := range h.ended {
				h.ended[f] += w.bytes[f]
			}
			delete(t.connections, name)
		}
	}
	for name := range sums {
		t.host(name)
	}
	for name, h := range t.vhosts {
		sum := sums[name]
		for f := range sum {
			sum[f] += h.ended[f]
		}
		h.note(now, sum[:], WholeKept)
	}
}

func (t *wires) host(name string) *hostWire {
	if t.vhosts[name] == nil {
		t.vhosts[name] = &hostWire{}
	}
	return t.vhosts[name]
}

// restore takes over the history of a virtual host's connections.
func (t *wires) restore(vhost string, h *history) {
	if t.vhosts == nil {
		t.connections, t.vhosts = map[string]*wire{}, map[string]*hostWire{}
	}
	t.vhosts[vhost] = &hostWire{history: *h}
}

// forget forgets the histories, not the sums.
func (t *wires) forget() {
	for _, w := range t.connections {
		w.history = history{}
	}
	for _, h := range t.vhosts {
		h.history = history{}
	}
}

// WireOf is the trend of a connection's bytes.
func (s *Sampler) WireOf(connection string, w Spans) Trend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.mu.wires.connections[connection]; c != nil {
		return c.trend(dataFigures, s.mu.runs, func(int) span { return w.data })
	}
	none := history{last: s.mu.last}
	return none.trend(dataFigures, s.mu.runs, func(int) span { return w.data })
}

// BytesOf are the bytes of a virtual host's connections as of the last reading, with their trend.
func (s *Sampler) BytesOf(vhost string, w Spans) (received, sent uint64, t Trend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.mu.wires.vhosts[vhost]
	if h == nil {
		return 0, 0, Trend{}
	}
	if h.figures != nil {
		received, sent = h.figures[AtReceived]-h.baseOf(AtReceived), h.figures[AtSent]-h.baseOf(AtSent)
	}
	return received, sent, h.trend(dataFigures, s.mu.runs, func(int) span { return w.data })
}
