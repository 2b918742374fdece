package main

const module = "github.com/bartleby-mq/bartleby"

// variable is what plants a fault in everything that a process makes: tests are run so. A simulation plants
// it in the machine and the journal that it drives, and not in those that it compares them with.
const variable = "BARTLEBY_FAULT"

// seams are what all faults need: where the name of the planted one is kept.
func seams() []edit {
	return []edit{
		{file: "internal/journal/options.go", at: `type Options struct {`, after: `
	Planted string`},
		{file: "internal/journal/rewrite.go", at: `type Rewriting struct {`, after: `
	o *Options`},
		{file: "internal/journal/rewrite.go", at: `w := &Rewriting{`, after: `o: &j.o, `},
		{file: "internal/queue/pool.go", at: `type Pool struct {`, after: `
	plantedHere string`},
		{file: "internal/vhost/vhost.go", at: `type VHost struct {`, after: `
	plantedHere string`},
		{file: "internal/sim/sim.go", at: `type Options struct {`, after: `
	Planted string`},
		{file: "internal/sim/disk.go", at: `	return journal.Options{`, after: ` Planted: w.o.Planted,`},
		{file: "internal/sim/disk.go", at: `	v.CountBy(segmentBytes / 64)`, before: `	v.Plant(w.o.Planted)
`},
	}
}

// added are files that only the build of the faults has, or that it has in the place of others.
func added() map[string]string {
	return map[string]string{
		"internal/planted/planted.go": `package planted

import "os"

var everywhere = os.Getenv("` + variable + `")

func Is(fault, here string) bool { return here == fault || everywhere == fault }
`,
		"internal/journal/planted.go": `package journal

import "` + module + `/internal/planted"

func (o *Options) planted(fault string) bool { return planted.Is(fault, o.Planted) }
`,
		"internal/engine/planted.go": `package engine

import "` + module + `/internal/planted"

func (w *logWriter) planted(fault string) bool { return planted.Is(fault, "") }
`,
		"internal/cluster/planted.go": `package cluster

import "` + module + `/internal/planted"

func isPlanted(fault string) bool { return planted.Is(fault, "") }
`,
		"internal/queue/planted.go": `package queue

import "` + module + `/internal/planted"

func (p *Pool) Plant(fault string) { p.plantedHere = fault }

func (p *Pool) planted(fault string) bool { return planted.Is(fault, p.plantedHere) }
`,
		"internal/vhost/planted.go": `package vhost

import "` + module + `/internal/planted"

func (v *VHost) Plant(fault string) {
	v.plantedHere = fault
	v.pool.Plant(fault)
}

func (v *VHost) planted(fault string) bool { return planted.Is(fault, v.plantedHere) }
`,
		"internal/sim/planted.go": `package sim

func (w *world) planted(fault string) bool { return w.o.Planted == fault }
`,
		"internal/sim/mutants/plant.go": `package main

import "` + module + `/internal/sim"

func plant(o *sim.Options, fault string) { o.Planted = fault }
`,
	}
}
