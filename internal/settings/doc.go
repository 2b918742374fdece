// Package settings says what queues run with, and why: arguments of declarations, policies and operator policies,
// options of virtual hosts, and how they are merged.
//
// It owns the table of settings: each is one row, which says what it is called, what values it takes, who may set it,
// who wins where several do, which field of Settings it sets, and how it is explained. Everything that knows settings
// by name reads the table: validation (CheckArguments, Policy.Check), merging (Effective, MergePolicies), explanations
// (Rules), and what others know of it (All): the HTTP API, and through it the console; the hints of the command line.
//
// Everything here is pure: values in, values out. Which queues and exchanges there are, and when a change of rules
// comes into force on them, is for package vhost. Begin reading at table.go.
package settings
