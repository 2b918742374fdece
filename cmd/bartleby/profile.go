//go:build profile

package main

import (
	"log"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

// A build with the tag profile writes a CPU profile, from its start until SIGUSR1, to the file BARTLEBY_PROFILE.
// The file is there when it is whole. See bench/profile.sh.
func init() {
	name := os.Getenv("BARTLEBY_PROFILE")
	if name == "" {
		return
	}
	f, err := os.Create(name + ".part")
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		log.Fatal(err)
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGUSR1)
	go func() {
		<-ends
		pprof.StopCPUProfile()
		err := f.Close()
		if err == nil {
			err = os.Rename(f.Name(), name)
		}
		if err != nil {
			log.Print(err)
		}
	}()
}
