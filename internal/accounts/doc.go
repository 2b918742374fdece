// Package accounts has the users of a node with their password hashes and tags, the list of virtual hosts, permissions
// and topic permissions, global parameters, the limits of virtual hosts and users, the audit log, and whether an import
// of definitions is running. The package authz decides from them who may do what.
//
// It is the second, small state machine of a node, beside the one of each virtual host, and has a log of its own,
// number [OwnLogID]. It works the same way: [Machine.Step] decides a [Command] once and emits at
// most one [Fact], already applied; [Machine.Apply] applies a fact made earlier or elsewhere;
// [Machine.Snapshot] is the shortest list of facts that leads to the present state. It has no
// clock, no randomness and no disk: the salt of a password comes in the command.
//
// Other packages (engine, authz, amqpserver, management) never touch the Machine. They read a [View], an immutable copy
// that the owner of the Machine publishes after each batch, and that any number of goroutines may read.
//
// Promises:
//   - A refused command leaves no trace, neither in the state nor in the Outcome.
//   - Applying the facts of a Machine to an empty one gives the same Snapshot, byte for byte.
//   - A virtual host has one LogID from its creation to its deletion, and no other ever gets it, so a log whose
//     number is not in the list belongs to a deleted virtual host and can be dropped: deletion is decided here.
//   - Deleting a user or a virtual host takes every permission and limit of it along.
//   - No fact, and nothing on disk, holds a password.
//
// Left to others: sockets and addresses (listeners), which operation needs which permission (authz), what is inside
// a virtual host (vhost), policies (vhost).
//
// Begin with Command in command.go, then step.go and apply.go.
package accounts
