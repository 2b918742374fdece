# What the scripts beside this one share. Each takes one argument, the bartleby to measure, which becomes binary here, and
# sources this file when it has set
#   root       of the repository
#   out        where reports and logs go
#   data       the broker's directory
#   port       the first of its three consecutive ports
#   serve      more arguments for `bartleby serve`
# shellcheck shell=sh

[ $# -eq 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 64; }
binary=$(CDPATH= cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
me=$(basename -- "$0")
url=amqp://guest:guest@127.0.0.1:$port/
management=http://127.0.0.1:$((port + 1))
pid=
failed=0

# start starts a Bartleby over the directory and returns when it serves.
start() {
	: >"$out/bartleby.log" # now: the last one's must not be taken for the new one's
	# shellcheck disable=SC2086 # the arguments are words
	"$binary" serve --data "$data" --listen "127.0.0.1:$port" --management "127.0.0.1:$((port + 1))" \
		--prometheus "127.0.0.1:$((port + 2))" $serve >"$out/bartleby.log" 2>&1 &
	pid=$!
	left=600
	until grep -q 'Server startup complete' "$out/bartleby.log"; do
		left=$((left - 1))
		if [ "$left" -eq 0 ] || ! kill -0 "$pid" 2>/dev/null; then
			echo "$me: Bartleby did not start; see $out/bartleby.log" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# stop ends it.
stop() {
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		pid=
	fi
}

# perf REPORT ARGUMENT…  measures, and leaves the report in that file. A run whose books do not balance is an error; its
# report is shown all the same. The load comes from $generator, if that is set.
perf() {
	report=$1
	shift
	if ! "${generator:-$binary}" perf "$@" -json >"$report"; then
		cat "$report" >&2
		failed=1
	fi
}

# prepare NAME  empties the broker's directory and builds bench/NAME; the broker ends with the script.
prepare() {
	trap stop EXIT
	trap 'exit 1' HUP INT TERM
	rm -rf "$data"
	mkdir -p "$data" "$out"
	cd "$root"
	go build -o "$out/$1" "./bench/$1"
}

# flags prints what `bartleby perf` is called with for a work of $works, those of WORKS or all; $duration is how long some last.
works=${WORKS:-16b 16b-push 1k 1k-push persistent dead-letter latency latency-persistent expire expire-window expire-stored reject-full backlog connect pairs 1m-push}
flags() {
	case $1 in
	16b) echo throughput -duration "$duration" -size 16 -ack auto ;;
	16b-push) echo throughput -duration "$duration" -size 16 -ack auto -backlog-max -1 ;;
	1k) echo throughput -duration "$duration" -size 1024 -ack 100 ;;
	1k-push) echo throughput -duration "$duration" -size 1024 -ack 100 -backlog-max -1 ;;
	persistent) echo throughput -duration "$duration" -size 1024 -persistent -confirms 1000 -ack 100 ;;
	dead-letter) echo dead-letter -duration "$duration" -size 1024 -reject 100 -ack 100 ;;
	latency) echo latency -duration "$duration" -rate 5000 -size 128 -ack auto ;;
	latency-persistent) echo latency -duration "$duration" -rate 5000 -size 1024 -persistent -confirms 1000 -ack 100 ;;
	expire) echo expire -count 100000 -size 128 -ttl 10s ;;
	expire-window) echo expire -count 50000 -size 128 -ttl 5s -window 10s ;;
	expire-stored) echo expire -count 500000 -size 1024 -persistent -ttl 6s -stored ;;
	reject-full) echo dead-letter -count 500000 -size 1024 -persistent -full -reject 100 ;;
	backlog) echo backlog -count 300000 -size 1024 ;;
	connect) echo connect -duration "$duration" ;;
	delay) echo delay -count 160000 -rate 20000 -delay-min 1s -delay-max 5s -confirms 0 -ack auto ;;
	pairs) echo throughput -duration "$duration" -size 16 -ack auto -publishers 8 -consumers 8 ;;
	1m-push) echo throughput -duration "$duration" -size 1048576 -ack 2 -prefetch 8 -backlog-max -1 ;;
	*)
		echo "$me: no work is called $1" >&2
		return 1
		;;
	esac
}
