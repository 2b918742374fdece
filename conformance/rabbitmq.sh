#!/bin/sh
# A private rabbitmq-server for the conformance suite and the benchmarks.
#
#   rabbitmq.sh start   installs rabbitmq-server if it is missing (Debian, root), starts a node on ports of its own
#                       with a fresh data directory, the plugins for management and exchange types, and returns
#                       when it is ready
#   rabbitmq.sh check   starts it, runs the conformance suite against it and stops it
#   rabbitmq.sh stop    stops that node; fine if none runs
#   rabbitmq.sh url     prints the AMQP URL
#   rabbitmq.sh http    prints the URL of the management API
#   rabbitmq.sh pid     prints the process id of the node's Erlang machine
#   rabbitmq.sh series  prints the series of the installed broker, such as 3.10
#
# RABBITMQ_PRIVATE_PORT (25680) is the first of four consecutive ports: AMQP, management, Erlang distribution, epmd.
# RABBITMQ_PRIVATE_DIR (build/rabbitmq) holds data, logs and cookie. Nothing of a system-wide rabbitmq-server or
# epmd is used or touched, and systemd is not needed.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
dir=${RABBITMQ_PRIVATE_DIR:-$root/build/rabbitmq}
port=${RABBITMQ_PRIVATE_PORT:-25680}
management=$((port + 1))
distribution=$((port + 2))
epmd_port=$((port + 3))
bin=/usr/lib/rabbitmq/bin

environment() {
	export HOME="$dir" # Erlang keeps its cookie there
	export ERL_EPMD_PORT="$epmd_port" ERL_EPMD_ADDRESS=127.0.0.1
	export RABBITMQ_NODENAME="bartleby-peer-$port@localhost"
	export RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$port" RABBITMQ_DIST_PORT="$distribution"
	export RABBITMQ_MNESIA_BASE="$dir/data" RABBITMQ_LOG_BASE="$dir/log" RABBITMQ_PID_FILE="$dir/pid"
	export RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" RABBITMQ_CONF_ENV_FILE="$dir/none"
	export RABBITMQ_ADVANCED_CONFIG_FILE="$dir/advanced.config"
	export RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins"
	export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
}

install() {
	[ -x "$bin/rabbitmq-server" ] && return
	echo "rabbitmq.sh: installing rabbitmq-server"
	# Debian would start the service at once; a policy that says no, for as long as the installation takes, prevents it.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		trap 'rm -f "$policy"' EXIT
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends rabbitmq-server >/dev/null
}

start() {
	(install)
	stop
	rm -rf "$dir/data" "$dir/log" "$dir/pid"
	mkdir -p "$dir/data" "$dir/log"
	cat >"$dir/rabbitmq.conf" <<-CONF
		listeners.tcp.default = 127.0.0.1:$port
		management.tcp.ip = 127.0.0.1
		management.tcp.port = $management
		disk_free_limit.absolute = 50MB
		log.file.level = info
	CONF
	echo '[].' >"$dir/advanced.config"
	exchanges=rabbitmq_consistent_hash_exchange,rabbitmq_random_exchange,rabbitmq_sharding,rabbitmq_recent_history_exchange
	echo "[rabbitmq_management,$exchanges]." >"$dir/enabled_plugins"
	if ! (launch); then
		echo "rabbitmq.sh: the node did not start; see $dir/log" >&2
		tail -n 20 "$dir/log/wait" "$dir/log/stdout" >&2
		stop
		exit 1
	fi
	echo "rabbitmq.sh: rabbitmq-server $(series) listens on $(url), management on $(http)"
}

# launch starts epmd and the node, and waits for the latter. It runs in a subshell, where it changes HOME.
launch() {
	environment
	setsid epmd -port "$epmd_port" -address 127.0.0.1 >"$dir/log/epmd" 2>&1 </dev/null &
	echo $! >"$dir/epmd.pid"
	setsid "$bin/rabbitmq-server" >"$dir/log/stdout" 2>&1 </dev/null &
	"$bin/rabbitmqctl" wait --timeout 120 "$dir/pid" >"$dir/log/wait" 2>&1
}

check() {
	start
	trap stop EXIT
	suite="$dir/conformance.test"
	(cd "$root" && go test -c -o "$suite" ./conformance)
	"$suite" -amqp "$(url)" -http "$(http)" -series "$(series)"
}

stop() {
	end "$dir/pid"
	end "$dir/epmd.pid"
}

# end asks the process in a pid file to stop, and insists after 30 seconds.
end() {
	[ -s "$1" ] || return 0
	pid=$(cat "$1")
	kill "$pid" 2>/dev/null || true
	left=300
	while kill -0 "$pid" 2>/dev/null && [ "$left" -gt 0 ]; do
		sleep 0.1
		left=$((left - 1))
	done
	kill -9 "$pid" 2>/dev/null || true
	rm -f "$1"
}

url() { echo "amqp://guest:guest@127.0.0.1:$port/"; }
http() { echo "http://127.0.0.1:$management"; }
pid() { cat "$dir/pid"; }
series() { dpkg-query -W -f '${Version}' rabbitmq-server | cut -d. -f1,2; }

case "${1:-}" in
start | check | stop | url | http | pid | series) "$1" ;;
*)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
	exit 64
	;;
esac
