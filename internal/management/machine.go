package management

// machine is what the process takes of the machine, and what there is; zero where it is not known.
type machine struct {
	filesOpen, filesMax   int64
	memoryUsed, memoryMax int64 // bytes
	diskFree              int64 // bytes, where the data is
}
