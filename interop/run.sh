#!/usr/bin/env bash
# Runs unmodified clients against a broker. Prints "N passed, N failed" at the end; the exit code is not 0 if one failed.
#
#   run.sh [BINARY [SUITE...]]     starts BINARY (build/bartleby) on free ports with a data directory of its own
#   run.sh --external [SUITE...]   uses the broker that the environment names
#
# Suites: java spring spring-cloud-stream tools python celery rabbitmqadmin node go prometheus own-rabbitmqadmin rabbit-hole client-tests;
# all of them without a name. interop/deps.sh installs what they need.
# Each reads from the environment:
#   AMQP_URL         amqp://guest:guest@127.0.0.1:5672/
#   MANAGEMENT_URL   http://127.0.0.1:15672
#   METRICS_URL      http://127.0.0.1:15692
#   CTL              the command that behaves as rabbitmqctl
#   PLUGINS          the command that behaves as rabbitmq-plugins, for the suite go where PRODUCT is bartleby
#   BROKER_LOG       file with the output of the broker; without it, tools skips the checks of the log
#   RABBITMQADMIN    the script, for the suite of that name; build/interop/rabbitmqadmin
#   PRODUCT          rabbitmq: hold the broker to what RabbitMQ 3.10 does
#                    rabbitmq-4: to what RabbitMQ does since its version 4
#                    bartleby: to Bartleby's promises too
# The suites declare and delete queues, exchanges and policies on the virtual host "/": a broker of which nothing else
# is asked meanwhile.
set -uo pipefail
exec </dev/null

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname -- "$here")
build=$root/build/interop
all=(java spring spring-cloud-stream tools python celery rabbitmqadmin node go prometheus own-rabbitmqadmin rabbit-hole client-tests)
export RABBITMQADMIN=${RABBITMQADMIN:-$build/rabbitmqadmin}

binary=        # of the broker, unless it is an external one
broker=        # process id, while it runs
temporary=     # directory of this run
passed=0 failed=0

say() { echo "interop: $*"; }

# free_port prints a port of the loopback, below those the kernel gives to clients, on which nobody listens.
free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 10000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

start_broker() {
	local amqp management prometheus
	binary=$1
	if [ ! -x "$binary" ]; then
		say "$binary is not there; make build makes build/bartleby"
		return 1
	fi
	binary=$(cd -- "$(dirname -- "$binary")" && pwd)/$(basename -- "$binary")
	amqp=$(free_port) management=$(free_port) prometheus=$(free_port)
	"$binary" serve --data "$temporary/data" --listen "127.0.0.1:$amqp" --management "127.0.0.1:$management" \
		--prometheus "127.0.0.1:$prometheus" >"$build/broker.log" 2>&1 &
	broker=$!
	for ((i = 0; i < 600; i++)); do
		grep -q 'Server startup complete' "$build/broker.log" && break
		kill -0 "$broker" 2>/dev/null || break
		sleep 0.1
	done
	if ! grep -q 'Server startup complete' "$build/broker.log"; then
		say "the broker did not start:"
		tail -n 20 "$build/broker.log"
		return 1
	fi
	ln -s "$binary" "$temporary/rabbitmqctl"
	ln -s "$binary" "$temporary/rabbitmq-plugins"
	export AMQP_URL="amqp://guest:guest@127.0.0.1:$amqp/" MANAGEMENT_URL="http://127.0.0.1:$management"
	export METRICS_URL="http://127.0.0.1:$prometheus"
	export CTL="$temporary/rabbitmqctl" PLUGINS="$temporary/rabbitmq-plugins" BARTLEBY_MANAGEMENT="$MANAGEMENT_URL" PRODUCT=bartleby BROKER_LOG="$build/broker.log"
}

# stop_broker asks the broker to end, insists after 20 seconds, and fails unless it ended well by itself.
stop_broker() {
	[ -n "$broker" ] || return 0
	local pid=$broker status
	broker=
	kill -TERM "$pid" 2>/dev/null
	(sleep 20; kill -KILL "$pid") >/dev/null 2>&1 & # it must not hold our output
	local insisting=$!
	wait "$pid"
	status=$?
	kill "$insisting" 2>/dev/null
	wait "$insisting" 2>/dev/null
	[ "$status" = 0 ] && return 0
	say "the broker ended with status $status:"
	tail -n 20 "$build/broker.log"
	return 1
}

leave() {
	if [ -n "$broker" ]; then
		stop_broker
	fi
	rm -rf "$temporary"
}

# maven shows what matters of a run of Maven, the whole of which is in build/interop, and sums it up.
maven() {
	local log=$build/$1.log status sums
	mvn -B -ntp -Dstyle.color=never -f "$here/$1/pom.xml" test >"$log" 2>&1
	status=$?
	sed -n '/Help 1\|dump files\|^\[ERROR\] *$\|full stack trace\|full debug\|For more information/d
		s/^\[[A-Z]*\] *\(Tests run:.* in \)/\1/p; s/^\[ERROR\] *//p' "$log"
	find "$here/$1/target/surefire-reports" -name 'TEST-*.xml' -newer "$temporary" -exec \
		sed -n 's/.*<skipped message="\([^"]*==&gt; \)*\([^"]*\)".*/left out: \2/p' {} + 2>/dev/null
	# The last sum is the whole: Tests run: 42, Failures: 0, Errors: 0, Skipped: 1
	sums=$(sed -n 's/^\[[A-Z]*\] *Tests run: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\), Skipped: \([0-9]*\)$/\1 \2 \3 \4/p' "$log" | tail -n 1)
	if [ -z "$sums" ]; then
		tail -n 20 "$log"
		return 1
	fi
	local run failures errors skipped
	read -r run failures errors skipped <<<"$sums"
	echo "$((run - failures - errors - skipped)) passed, $((failures + errors)) failed"
	return "$status"
}

suite() {
	case $1 in
	java | spring | spring-cloud-stream | tools) maven "$1" ;;
	python) "$build/venv/bin/python" "$here/python/interop.py" ;;
	celery)
		: >"$build/celery.log"
		CELERY_LOG=$build/celery.log "$build/venv-celery/bin/python" "$here/celery/interop.py"
		;;
	rabbitmqadmin) python3 "$here/rabbitmqadmin/interop.py" ;;
	own-rabbitmqadmin)
		[ -n "$binary" ] || { echo "own-rabbitmqadmin is the binary under another name: it wants BINARY"; return 64; }
		mkdir -p "$build/own"
		ln -sf "$(realpath "$binary")" "$build/own/rabbitmqadmin"
		RABBITMQADMIN=$build/own/rabbitmqadmin python3 "$here/rabbitmqadmin/interop.py"
		;;
	rabbit-hole)
		[ -n "$binary" ] || { echo "rabbit-hole starts a broker of its own: it wants BINARY"; return 64; }
		"$here/rabbit-hole/run.sh" "$binary" "$build/rabbit-hole.log"
		;;
	client-tests)
		[ -n "$binary" ] || { echo "client-tests starts brokers of its own: it wants BINARY"; return 64; }
		(cd -- "$root" && go run ./interop/clienttests -short -binary "$binary")
		;;
	node) node "$here/node/interop.js" ;;
	go) (cd -- "$root" && go run ./interop/go) ;;
	prometheus) (cd -- "$root" && PROMETHEUS_BIN=$build/prometheus/usr/bin go run ./interop/prometheus) ;;
	*)
		echo "there is no suite $1: ${all[*]}"
		return 64
		;;
	esac
}

# run_suite counts what the suite's last line says. One that fails without saying so counts as one failure.
run_suite() {
	local log=$temporary/$1.out status sum p=0 f=0 begun=$SECONDS
	if [ -n "$broker" ] && ! kill -0 "$broker" 2>/dev/null; then
		say "$1: the broker has gone"
		failed=$((failed + 1))
		return
	fi
	suite "$1" 2>&1 | tee "$log" | grep -vE '^[0-9]+ passed, [0-9]+ failed$'
	status=${PIPESTATUS[0]}
	sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
	[ -z "$sum" ] || read -r p _ f _ <<<"$sum"
	if [ "$f" = 0 ] && { [ "$status" != 0 ] || [ "$p" = 0 ]; }; then
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f))
	echo "$1: $p passed, $f failed ($((SECONDS - begun)) s)"
}

mkdir -p "$build"
temporary=$(mktemp -d)
trap leave EXIT
trap 'exit 130' INT TERM

if [ "${1:-}" = --external ]; then
	shift
	all=("${all[@]:0:${#all[@]}-3}") # without those that want the binary
	[ "${PRODUCT:-rabbitmq}" = bartleby ] || unset 'all[-1]' # prometheus, which reads what only Bartleby exports
	export AMQP_URL=${AMQP_URL:-amqp://guest:guest@127.0.0.1:5672/}
	export MANAGEMENT_URL=${MANAGEMENT_URL:-http://127.0.0.1:15672}
	export METRICS_URL=${METRICS_URL:-http://127.0.0.1:15692}
	export CTL=${CTL:-rabbitmqctl} PRODUCT=${PRODUCT:-rabbitmq}
	say "$PRODUCT at $AMQP_URL, management at $MANAGEMENT_URL, command $CTL"
else
	start_broker "${1:-$root/build/bartleby}" || exit 1
	[ $# = 0 ] || shift
	say "bartleby at $AMQP_URL, management at $MANAGEMENT_URL"
fi
[ $# -gt 0 ] || set -- "${all[@]}"
for name; do
	run_suite "$name"
done
stop_broker || failed=$((failed + 1))
[ "$failed" = 0 ] || [ ! -f "$build/broker.log" ] || [ "$PRODUCT" != bartleby ] || say "the broker's log is $build/broker.log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
