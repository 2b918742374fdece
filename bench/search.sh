#!/bin/sh
# Measures the dead-letter index: how fast it is built, how large it is, and how long searches and groups take; then the
# effect of searches on publishers.
#
#   search.sh BINARY
#
# LETTERS (1000000): number of dead letters; they take 4 GB of a temporary directory and a few minutes; 0 skips this part.
# Then messages are published for DURATION (4s), ROUNDS (5) times alternately: with the index off; on; on while a client
# sends cheap requests (whoami) without a pause; and on while a client searches and groups FILL (200000) dead letters
# without a pause. The table shows medians. The cheap requests measure the effect of any client on the shared processors.
# The last part measures the processor time of indexing while dead letters are created. BENCH_PORT (25790) is the first of three consecutive ports. It needs curl.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=$root/build/bench/search
duration=${DURATION:-4s}
port=${BENCH_PORT:-25790}
data=$out/data
serve=
rounds=${ROUNDS:-5}
asking=
mkdir -p "$out"
. "$root/bench/lib.sh"
trap '[ -z "$asking" ] || kill "$asking" 2>/dev/null; stop; rm -rf "$data"' EXIT
trap 'exit 130' INT TERM

[ "${LETTERS:-1000000}" -eq 0 ] || (cd "$root" && go test -run '^$' -bench BenchmarkSearch -benchtime 20x -timeout 1h -v ./internal/search -search.messages "${LETTERS:-1000000}") |
	grep 'bench_test.go\|ns/op'

# api METHOD PATH [BODY]
api() { curl -s -f -o /dev/null -u guest:guest -X "$1" ${3:+-d "$3"} "$management/api/$2"; }

# dead_letters [COUNT]  fills a queue: what is published dies at once.
dead_letters() {
	api PUT queues/%2F/letters '{"durable":true}'
	api PUT policies/%2F/die '{"pattern":"^perf","definition":{"max-length":0,"dead-letter-exchange":"","dead-letter-routing-key":"letters"},"apply-to":"queues"}'
	timeout 120 "$binary" perf backlog -count "${1:-${FILL:-200000}}" -size 1024 -persistent -confirms 1000 -drain 1s -url "$url" >/dev/null 2>&1 || true # nothing is drained
	api DELETE policies/%2F/die
}

# books is a counter of the broker.
books() { curl -s "http://127.0.0.1:$((port + 2))/metrics" | sed -n "s/^$1 //p"; }

# publishing WHAT  publishes 20,000 a second and puts p50 and p99 of the confirms, in ms, into a file for WHAT.
publishing() {
	perf "$out/report.json" throughput -duration "$duration" -size 1024 $kept -confirms 1000 -rate 20000 -ack 100 -url "$url" -pid "$pid"
	tr -d ' \n' <"$out/report.json" | sed 's/.*"confirm":{[^}]*"p50_ms":\([0-9.]*\)[^}]*"p99_ms":\([0-9.]*\).*/\1 \2/' >>"$out/$kind.$1"
	echo >>"$out/$kind.$1"
}

# median FILE COLUMN
median() { sort -n -k "$2" "$1" | awk -v c="$2" '{v[NR]=$c} END {printf "%.2f", v[int((NR+1)/2)]}'; }

go build -o "$out/asking" "$root/bench/asking"
rm -f "$out"/*.off "$out"/*.on "$out"/*.asked "$out"/*.searched "$out"/*.answers
for kind in transient persistent; do
	kept=
	[ $kind = transient ] || kept=-persistent
	for index in false true; do
		rm -rf "$data"
		serve="--set index.enabled=$index"
		start
		dead_letters
		if [ $index = true ]; then # until all is known
			until [ "$(curl -s -u guest:guest "$management/api/x/index" | sed 's/.*"behind":\([0-9]*\).*/\1/')" = 0 ]; do sleep 0.5; done
		fi
		sleep 3
		for round in $(seq "$rounds"); do
			if [ $index = false ]; then
				publishing off
				continue
			fi
			publishing on
			for how in asked searched; do
				if [ $how = asked ]; then
					"$out/asking" -for "$duration" "$management/api/whoami" >>"$out/$kind.answers" &
				else
					"$out/asking" -for "$duration" "$management/api/x/letters/%2F?filter=reason:maxlen&limit=50" "$management/api/x/letters/%2F/groups?by=source" >>"$out/$kind.answers" &
				fi
				asking=$!
				publishing $how
				wait $asking
				asking=
			done
		done
		stop
	done
	for how in off on asked searched; do
		echo "$kind, $how: p50 $(median "$out/$kind.$how" 1), p99 $(median "$out/$kind.$how" 2) ms"
	done
	cat "$out/$kind.answers"
done

# What indexing takes of a processor while dead letters are made without a pause.
rm -rf "$data"
serve="--set index.enabled=true"
start
dead_letters 1000000 &
filling=$!
sleep 2
worked=$(books bartleby_index_work_seconds_total)
sleep 5
echo "worked by the index in 5 s beside traffic: $(awk "BEGIN {print $(books bartleby_index_work_seconds_total) - $worked}") s"
wait $filling
exit "$failed"
