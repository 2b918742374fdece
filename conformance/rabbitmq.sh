#!/bin/sh
# A private rabbitmq-server for the conformance suite and the benchmarks.
#
#   rabbitmq.sh start   installs rabbitmq-server if it is missing (Debian, root), starts a node on ports of its own
#                       with a fresh data directory, the plugins for management, metrics and exchange types, and
#                       returns when it is ready
#   rabbitmq.sh check   starts it, runs the conformance suite against it and stops it
#   rabbitmq.sh stop    stops that node; succeeds if none runs
#   rabbitmq.sh url     prints the AMQP URL
#   rabbitmq.sh http    prints the URL of the management API
#   rabbitmq.sh pid     prints the process id of the node's Erlang machine
#   rabbitmq.sh series  prints the series of the installed broker, such as 3.10
#
# rabbitmq4.sh does the same with a rabbitmq-server of series 4.
#
# RABBITMQ_PRIVATE_PORT (25680) is the first of five consecutive ports: AMQP, management, Erlang distribution, epmd,
# metrics.
# RABBITMQ_PRIVATE_DIR (build/rabbitmq) holds data, logs and cookie. Nothing of a system-wide rabbitmq-server or
# epmd is used or touched, and systemd is not needed.
# RABBITMQ_PRIVATE_RELEASE names a release of Debian whose rabbitmq-server runs instead of the machine's own. It lives
# in a chroot in that directory, which debootstrap builds once, from the mirror RABBITMQ_PRIVATE_MIRROR (the machine's).
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
dir=${RABBITMQ_PRIVATE_DIR:-$root/build/rabbitmq}
port=${RABBITMQ_PRIVATE_PORT:-25680}
release=${RABBITMQ_PRIVATE_RELEASE:-}
management=$((port + 1))
distribution=$((port + 2))
epmd_port=$((port + 3))
prometheus=$((port + 4))
bin=/usr/lib/rabbitmq/bin

# The node sees the root directory jail as /, and its own directory dir as seen.
jail= seen=$dir
if [ -n "$release" ]; then
	jail=$dir/$release seen=/srv/node
	dir=$jail$seen
fi

environment() {
	export HOME="$seen" # Erlang keeps its cookie there
	export ERL_EPMD_PORT="$epmd_port" ERL_EPMD_ADDRESS=127.0.0.1
	export RABBITMQ_NODENAME="bartleby-peer-$port@localhost"
	export RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$port" RABBITMQ_DIST_PORT="$distribution"
	export RABBITMQ_MNESIA_BASE="$seen/data" RABBITMQ_LOG_BASE="$seen/log" RABBITMQ_PID_FILE="$seen/pid"
	export RABBITMQ_CONFIG_FILE="$seen/rabbitmq.conf" RABBITMQ_CONF_ENV_FILE="$seen/none"
	export RABBITMQ_ADVANCED_CONFIG_FILE="$seen/advanced.config"
	export RABBITMQ_ENABLED_PLUGINS_FILE="$seen/enabled_plugins"
	export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
}

# inside becomes a command that runs where the broker is installed. In a chroot it has a /proc, which ends with it.
inside() {
	[ -n "$jail" ] || exec "$@"
	exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$jail" "$@"
}

install() {
	[ -x "$jail$bin/rabbitmq-server" ] && return
	if [ -n "$jail" ]; then build_jail; else install_package; fi
}

# build_jail makes the chroot beside its place, so that one left half-built is never used.
build_jail() {
	echo "rabbitmq.sh: building a chroot of Debian $release with rabbitmq-server"
	if ! command -v debootstrap >/dev/null; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
	fi
	rm -rf "$jail.part"
	mkdir -p "$jail.part"
	if ! debootstrap --variant=minbase --include=rabbitmq-server "$release" "$jail.part" "$(mirror)" >"$jail.log" 2>&1; then
		tail -n 20 "$jail.log" >&2
		return 1
	fi
	rm -rf "$jail"
	mv "$jail.part" "$jail"
}

# mirror prints where this machine's own Debian packages come from.
mirror() {
	[ -n "${RABBITMQ_PRIVATE_MIRROR:-}" ] && echo "$RABBITMQ_PRIVATE_MIRROR" && return
	apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Component: main' |
		awk '$2 !~ /-/ { print $1; exit }' # not bookworm-updates, not bookworm-security
}

install_package() {
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
	if [ -n "$jail" ]; then # the node looks up its machine's name for each connection
		echo "127.0.0.1 localhost $(hostname)" >"$jail/etc/hosts"
	fi
	cat >"$dir/rabbitmq.conf" <<-CONF
		listeners.tcp.default = 127.0.0.1:$port
		management.tcp.ip = 127.0.0.1
		management.tcp.port = $management
		prometheus.tcp.ip = 127.0.0.1
		prometheus.tcp.port = $prometheus
		disk_free_limit.absolute = 50MB
		log.file.level = info
	CONF
	# A dead letter kept by at-least-once is tried again after a second, not after three minutes.
	echo '[{rabbit, [{dead_letter_worker_publisher_confirm_timeout, 1000}]}].' >"$dir/advanced.config"
	exchanges=rabbitmq_consistent_hash_exchange,rabbitmq_random_exchange,rabbitmq_sharding,rabbitmq_recent_history_exchange
	echo "[rabbitmq_management,rabbitmq_prometheus,$exchanges]." >"$dir/enabled_plugins"
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
	inside setsid epmd -port "$epmd_port" -address 127.0.0.1 >"$dir/log/epmd" 2>&1 </dev/null &
	echo $! >"$dir/epmd.pid"
	inside setsid "$bin/rabbitmq-server" >"$dir/log/stdout" 2>&1 </dev/null &
	inside "$bin/rabbitmqctl" wait --timeout 120 "$seen/pid" >"$dir/log/wait" 2>&1
}

check() {
	start
	trap stop EXIT
	suite="$dir/conformance.test"
	(cd "$root" && go test -c -o "$suite" ./conformance)
	cd "$root/conformance" # the checks look for other tests from there
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
series() { dpkg-query --admindir="$jail/var/lib/dpkg" -W -f '${Version}' rabbitmq-server | cut -d. -f1,2; }

case "${1:-}" in
start | check | stop | url | http | pid | series) "$1" ;;
*)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
	exit 64
	;;
esac
