package amqpserver

import "testing"

// If it failed, a broker that nobody uses any more would keep the buffers of its busiest time.
func TestKeptBuffersGoWithTime(t *testing.T) {
	t.Parallel()
	b := newBuffers()
	var loads []*load
	for range readBuffersKept {
		loads = append(loads, b.load(readBufferLarge))
	}
	for _, l := range loads {
		b.recycle(l)
	}
	b.recycleChunk(b.chunk(chunkBytes))
	if len(b.large) != readBuffersKept || len(b.chunksLarge) != 1 {
		t.Fatalf("%d buffers and %d chunks are kept, want %d and 1", len(b.large), len(b.chunksLarge), readBuffersKept)
	}
	b.letGo()
	if len(b.large) != readBuffersKept/2 || len(b.chunksLarge) != 0 {
		t.Errorf("%d buffers and %d chunks are kept after a while", len(b.large), len(b.chunksLarge))
	}
	for range 6 {
		b.letGo()
	}
	if len(b.large) != 0 {
		t.Errorf("%d buffers are kept after half a minute", len(b.large))
	}
}
