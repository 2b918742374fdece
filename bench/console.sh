#!/bin/sh
# Measures how fast the web console is in a real browser: its first paint as the browser has it, what is transferred, and the time to
# the first rows of long lists.
#
#   console.sh BINARY [OTHER]   prints tables in Markdown; of two binaries, measured by turns, if another is named
#
# RUNS (7) is how often each page is opened. QUEUES (10000) and LETTERS (300000) are how many of them the lists have; 0 leaves that
# out. WATERFALL=1 shows when each file of a first view was asked for and was there. browser/deps.sh, which is called first, says
# and installs what is needed: Debian's chromium and node.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
[ $# -ge 1 ] && [ $# -le 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 64; }
"$root/browser/deps.sh" >&2
exec node "$root/browser/measure.js" "$@"
