//go:build race

package management

// raceDetector says that memory cannot be compared: with the race detector pools drop at random what they are given.
const raceDetector = true
