// Package vhost is the machine: one virtual host as a pure, deterministic state machine that decides every
// rule which spans queues: publishing, handing over, settling, dead letters, expiry, limits, policies.
//
// Six words carry it. A command is what somebody asks for. A stamp is all that a decision may know of the
// world outside: time, the index of the batch to be, fresh random bits. A fact is what is true from now on;
// an effect is what a frontend is to do about it. A hop is one dead letter's way from its queue through an
// exchange into others. A tick is the command by which time passes.
//
//	command + stamp ──Step──▶ facts ──Apply──▶ state
//	                    │       └──durable ones, as bytes──▶ the log
//	                    └─────▶ effects, each with the index it depends on
//
// Step decides once, and applies each fact as it is emitted. A restart, or a follower, only applies what the log
// holds: no decision is ever made twice. What decides is a method of step, which has the stamp and collects the
// outcome; what applies facts is a method of VHost, and has neither.
//
// Three classes of state live here. Durable state changes only by applying logged facts. Volatile state
// (transient queues and exchanges, transient messages) follows from the same facts, which are not logged.
// Connected state (channels, consumers, credit) is never a fact; handing a message over leaves a lazy one.
//
// Invariants, which the simulation checks after every step:
//   - the books balance: made = settled + ready + unacked + gone, per cause (Books);
//   - a replay of the log equals the durable projection of the live state (Projection);
//   - a dead letter leaves its queue in the same batch in which it arrives in every target;
//   - no effect that reveals a durable fact has an After before that fact's batch;
//   - nobody is handed more than their prefetch, nothing after its expiry, nothing early.
//
// A VHost has one owner at a time and starts no goroutine. Begin reading at Step and ApplyBatch.
package vhost
