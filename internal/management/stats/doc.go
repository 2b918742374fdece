// Package stats reads what a broker counts: the Sampler keeps readings of all counters for a while and makes rates of
// them, the Reader sums virtual hosts up as they are now. Metrics, lists and summaries of dead letters read the same
// figures.
package stats
