//go:build !race

package management

const raceDetector = false
