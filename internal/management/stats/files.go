package stats

// files is how many file descriptors the process has and may have; zero where it is not known.
type files struct{ Open, Most int64 }
