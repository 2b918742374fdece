package main

import (
	"fmt"

	"github.com/bartleby-mq/bartleby/internal/sim"
)

// A fault is a wrong change of the product, and who must notice it. The build of the faults has it as a
// branch that is taken where the fault is planted.
type fault struct {
	name   string
	edits  []edit
	checks []check
}

// An edit changes one place of a file. Its text is Go; FAULT in it is the name of the fault, so that
// planted(FAULT) tells whether the fault is planted.
type edit struct {
	file string // below the module's root
	at   string // what stands there, exactly once in the file
	// One of these: text in front of it, behind it, in its place.
	before, after, instead string
}

// A check is a checker of the simulation, or a test of a package, that must notice a fault.
type check struct {
	checker sim.Checker
	options sim.Options // with the seed to begin with: a rare fault has some that meet it soon
	pkg     string      // of the test, below the module's root; empty: the checker notices
	test    string
	says    string // part of what the test says when it fails
	args    []string
}

// by is a checker that must notice a fault in usual simulations.
func by(c sim.Checker) check { return check{checker: c} }

// in is a checker that must notice a fault in simulations with options.
func in(o sim.Options, c sim.Checker) check { return check{checker: c, options: o} }

// test is a test that must fail, and say so.
func test(pkg, name, says string) check { return check{pkg: pkg, test: name, says: says} }

// lives is the simulation of a cluster, in so many lives from a seed on, that must fail, and say so.
func lives(says string, from, n int) check {
	return check{
		pkg: "internal/cluster", test: "TestSeeds", says: says,
		args: []string{fmt.Sprintf("-from=%d", from), fmt.Sprintf("-seeds=%d", n)},
	}
}

// all returns every fault.
func all() []fault {
	var list []fault
	list = append(list, faultsOfJournal()...)
	list = append(list, faultsOfSim()...)
	list = append(list, faultsOfQueue()...)
	list = append(list, faultsOfDeathsAlike()...)
	list = append(list, faultsOfSchedules()...)
	list = append(list, faultsOfCluster()...)
	return append(list, faultsOfVHost()...)
}
