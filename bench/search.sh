#!/bin/sh
# Measures the index of letters: how fast it is made, how large it is, and how long searches and groups take; then what
# searching costs those who publish.
#
#   search.sh BINARY
#
# LETTERS (1000000) is how many there are: they take 4 GB of a temporary directory and a few minutes. DURATION (10s) is how long
# messages are published, with the index off, on, and on while somebody searches and groups FILL (200000) letters without a pause.
# BENCH_PORT (25790) is the first of three consecutive ports. It needs curl.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
[ $# -eq 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 64; }
binary=$(CDPATH= cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
out=$root/build/bench/search
duration=${DURATION:-10s}
port=${BENCH_PORT:-25790}
data=$out/data
serve=
searcher=
mkdir -p "$out"
. "$root/bench/lib.sh"
quiet() {
	[ -z "$searcher" ] || { kill "$searcher" 2>/dev/null || true; wait "$searcher" 2>/dev/null || true; searcher=; }
}
trap 'quiet; stop; rm -rf "$data"' EXIT
trap 'exit 130' INT TERM

(cd "$root" && go test -run '^$' -bench BenchmarkSearch -benchtime 20x -timeout 1h -v ./internal/search -search.letters "${LETTERS:-1000000}") |
	grep 'bench_test.go\|ns/op'

# api METHOD PATH [BODY]
api() { curl -s -f -o /dev/null -u guest:guest -X "$1" ${3:+-d "$3"} "$management/api/$2"; }

# letters fills a queue with 200,000: what is published dies at once.
letters() {
	api PUT queues/%2F/letters '{"durable":true}'
	api PUT policies/%2F/die '{"pattern":"^perf","definition":{"max-length":0,"dead-letter-exchange":"","dead-letter-routing-key":"letters"},"apply-to":"queues"}'
	timeout 120 "$binary" perf backlog -count "${FILL:-200000}" -size 1024 -persistent -confirms 1000 -drain 1s -url "$url" >/dev/null 2>&1 || true # nothing is drained
	api DELETE policies/%2F/die
}

# searching asks without a pause.
searching() {
	while api GET 'x/letters/%2F?filter=reason:maxlen&limit=50' && api GET 'x/letters/%2F/groups?by=source'; do :; done
}

for how in off on searching; do
	rm -rf "$data"
	serve="--set index.enabled=true"
	[ $how != off ] || serve="--set index.enabled=false"
	start
	letters
	if [ $how != off ]; then # until all is known
		until [ "$(curl -s -u guest:guest "$management/api/x/index" | sed 's/.*"behind":\([0-9]*\).*/\1/')" = 0 ]; do sleep 0.5; done
		curl -s -u guest:guest "$management/api/x/index"
		echo
	fi
	[ $how != searching ] || { searching & searcher=$!; }
	perf "$out/$how.json" throughput -duration "$duration" -size 1024 -persistent -confirms 1000 -rate 20000 -ack 100 -url "$url" -pid "$pid"
	quiet
	stop
	echo "index $how: $(tr -d ' \n' <"$out/$how.json" | sed 's/.*"confirm[a-z_]*":{\([^}]*\)}.*/\1/')"
done
exit "$failed"
