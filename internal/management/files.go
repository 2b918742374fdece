package management

// files is how many file descriptors the process has and may have; zero where it is not known.
type files struct{ open, most int64 }
