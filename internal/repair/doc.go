// Package repair looks at the data directory of a broker that does not run, says what of it is damaged and what that
// means, and makes a directory of it from which a broker starts with all that can be saved.
//
// Check reads every byte and changes nothing: the journal as journal.Look sees it, then users and
// virtual hosts, each applied from its checkpoint and its log, then every page, record and history
// that a message refers to. Repair does the same, and then: it copies what is damaged aside, gives
// each virtual host that has lost something a new checkpoint without what is lost, and has
// journal.Mend put all of it into force in one step. At the end it checks what it has made.
//
// It promises
//
//   - a crash at any moment leaves the directory as it was, or repaired;
//   - a virtual host of which nothing is lost is not changed;
//   - what is lost is listed, as exactly as what is left can tell; what is in doubt is kept: a message may come twice.
//
// The rules of what can be applied without what is lost are vhost.Salvage's, those of bytes are the journal's. The
// package is passive; the command line prints what it reports.
package repair
