#!/bin/sh
# Measures the index of letters: how fast it is made, how large it is, and how long searches and groups take.
#
#   bench/search.sh [letters]      1,000,000 without; some minutes, 4 GB of a temporary directory, some 1.5 GB of memory
#
# Then what searching costs those who publish: confirmed publishes with the index on, off, and on while somebody searches.
# It needs a quiet machine, curl, and Bartleby in build/bartleby.
set -eu
cd "$(dirname "$0")/.."
letters=${1:-1000000}
go test -run '^$' -bench 'BenchmarkSearch|BenchmarkTail' -benchtime 20x -timeout 1h -v ./internal/search -search.letters "$letters" |
	grep -v '^BenchmarkSearch/[^ ]*$'

bartleby=${BARTLEBY:-build/bartleby}
[ -x "$bartleby" ] || exit 0
data=$(mktemp -d)
broker= searcher=
trap '[ -z "$searcher" ] || kill $searcher; [ -z "$broker" ] || kill $broker; rm -rf "$data"' EXIT

# run NAME INDEX SEARCH: letters are made, then messages are published for ten seconds.
run() {
	"$bartleby" serve --data "$data/$1" --listen 127.0.0.1:56791 --management 127.0.0.1:56792 --prometheus none \
		--set "index.enabled=$2" >"$data/$1.log" 2>&1 &
	broker=$!
	"$bartleby" ctl --node http://127.0.0.1:56792 --timeout 30 ping >/dev/null
	amqp=amqp://guest:guest@127.0.0.1:56791
	"$bartleby" perf dead-letter --url $amqp --duration 5s >/dev/null 2>&1 || true
	if [ "$3" = search ]; then
		while :; do
			curl -s -o /dev/null -u guest:guest "http://127.0.0.1:56792/api/x/letters/%2F?filter=reason:rejected&limit=50"
			curl -s -o /dev/null -u guest:guest "http://127.0.0.1:56792/api/x/letters/%2F/groups?by=reason"
		done &
		searcher=$!
	fi
	echo "== $1"
	"$bartleby" perf persistent --url $amqp --duration 10s
	[ -z "$searcher" ] || { kill $searcher; wait $searcher 2>/dev/null || true; searcher=; }
	kill $broker
	wait $broker || true
	broker=
}
run index-off false no
run index-on true no
run index-on-searching true search
