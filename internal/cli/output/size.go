package output

import "fmt"

// Size is a number of bytes for people: 500 bytes, 1.5 KiB, 256.0 MiB.
func Size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	const most = 1023.95 // from here on one decimal would show 1024.0
	size, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if size < most {
			break
		}
		size, unit = size/(1<<10), next
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}
