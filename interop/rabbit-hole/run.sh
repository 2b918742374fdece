#!/usr/bin/env bash
# Runs the tests of rabbit-hole, the Go client of the management API, as its authors wrote them, against a broker of their
# own. They insist on the ports 5672 and 15672 of this machine, so they and the broker get a network of their own: unshare,
# as root or in a user namespace. Ends with "N passed, N failed".
#
#   run.sh BINARY [OUTPUT]     BINARY is the broker; OUTPUT gets what the tests print, and the broker's log
set -uo pipefail
exec </dev/null

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# What Bartleby has not: federation and shovels, whose parameters it refuses. Whatever else fails has failed.
left_out=(
	'shovel' 'federation'
	'/api/parameters when there are runtime parameters' '/api/parameters/\{component\}/\{vhost\}/\{name\} when the parameter does not exist'
)

if [ "${1:-}" != --inside ]; then
	binary=$1 output=${2:-$PWD/rabbit-hole.log}
	temporary=$(mktemp -d)
	trap 'rm -rf "$temporary"' EXIT
	cd -- "$here" || exit 1
	go test -c -o "$temporary/rabbit-hole.test" github.com/michaelklishin/rabbit-hole/v3 || exit 1
	own=(unshare --net --pid --fork --kill-child --mount-proc)
	[ "$(id -u)" = 0 ] || own=(unshare --user --map-root-user "${own[@]:1}")
	"${own[@]}" "$here/run.sh" --inside "$binary" "$temporary" >"$output" 2>&1
	sed 's/\x1b\[[0-9;]*m//g; s/^ *//' "$output" | grep -E '^\[(FAIL|PANICKED!)\]' | sort -u
	printf 'left out: specs of %s\n' "${left_out[@]}"
	# Ran 119 of 144 Specs ... 119 Passed | 0 Failed | 0 Pending | 25 Skipped
	sums=$(sed 's/\x1b\[[0-9;]*m//g' "$output" | sed -n 's/.* \([0-9]*\) Passed | \([0-9]*\) Failed .*/\1 passed, \2 failed/p')
	if [ -z "$sums" ]; then
		tail -n 20 "$output"
		exit 1
	fi
	echo "$sums"
	[[ $sums = *" 0 failed" ]]
	exit
fi

binary=$2 temporary=$3
unset "${!BARTLEBY_@}" # where another broker is
ip link set lo up
"$binary" serve --data "$temporary/data" >"$temporary/broker.log" 2>&1 &
broker=$!
for ((i = 0; i < 600; i++)); do
	grep -q 'Server startup complete' "$temporary/broker.log" && break
	kill -0 "$broker" 2>/dev/null || break
	sleep 0.1
done
# What the tests' own setup script does with rabbitmqctl.
ctl() { "$binary" ctl --data "$temporary/data" "$@"; }
ctl add_user policymaker policymaker
ctl set_user_tags policymaker policymaker
ctl set_permissions -p / policymaker ".*" ".*" ".*"
ctl add_vhost rabbit/hole
ctl set_permissions -p rabbit/hole guest ".*" ".*" ".*"
ctl set_cluster_name rabbitmq@localhost
ctl enable_feature_flag all
GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT=5s "$temporary/rabbit-hole.test" "${left_out[@]/#/-ginkgo.skip=}"
status=$?
kill "$broker"
wait "$broker"
cat "$temporary/broker.log"
exit "$status"
