#!/bin/sh
# Measures the web console in a real browser: the first paint as the browser reports it, the transferred bytes, and the
# time until the first rows of long lists.
#
#   console.sh BINARY [OTHER]   prints tables in Markdown; with two binaries it measures them alternately
#
# RUNS (7): how often each page is opened. QUEUES (10000) and LETTERS (300000): the number of queues and dead letters in
# the lists; 0 skips the list. WATERFALL=1 shows when each file of a first view was requested and received.
# browser/deps.sh, which is called first, lists and installs the dependencies: Debian's chromium and node.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
[ $# -ge 1 ] && [ $# -le 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 64; }
"$root/browser/deps.sh" >&2
exec node "$root/browser/measure.js" "$@"
