// Image writes a container image of the binary, without a daemon and as nobody in particular.
//
//	image -binary build/bartleby -architecture amd64 -version v1 -time 1767225600 -out build/bartleby-image.tar
//
// The tar file is an OCI image layout, as podman, skopeo, crane and containerd take it, and has the list beside it that
// `docker load` reads. The same input gives the same bytes. rootfs.go says what is in the image and how it runs,
// layout.go is the format.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var r release
	binary := flag.String("binary", "build/bartleby", "static `file` to run")
	out := flag.String("out", "build/bartleby-image.tar", "`file` to write")
	name := flag.String("name", "bartleby:latest", "`repository:tag` that tools call the image after it is loaded")
	created := flag.Int64("time", 0, "`seconds` since 1970 that every file and the image are dated")
	flag.StringVar(&r.architecture, "architecture", "amd64", "what the binary is for, in Go's `word`")
	flag.StringVar(&r.version, "version", "unknown", "`version` that the labels tell")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r.created = time.Unix(*created, 0).UTC()
	if err := write(r, *binary, *name, *out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Printf("image: %s for linux/%s is in %s\n", *name, r.architecture, *out)
}

func write(r release, binary, name, out string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	if err := static(program, r.architecture); err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	archive, err := layout(r, name, [][]entry{ground(), tools(program)})
	if err != nil {
		return err
	}
	return os.WriteFile(out, archive, 0o644)
}
