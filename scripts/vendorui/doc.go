// Vendorui brings the modules of others that the web console needs into the repository.
//
//	vendorui [DIRECTORY]     internal/management/console/ui/vendor, seen from the repository's root
//
// VENDOR.json in that directory says which: name, version, licence and the integrity of the package's archive, and
// which of its files are kept under which name. The archives come from `npm pack`; one whose integrity differs is
// refused. The files are as their authors made them but for two things, since a browser loads them without any build:
// the names of other modules in imports become relative paths, and references to source maps, which are not kept, go.
// The SHA-256 of each file as it is kept is written into VENDOR.json; a test compares.
//
// To take a newer version, change its number in VENDOR.json, empty its integrity, and run this: it prints and keeps the
// new one.
package main
