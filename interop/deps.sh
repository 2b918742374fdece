#!/usr/bin/env bash
# Lists the dependencies of the clients of interop/, and installs missing ones. It is fast if nothing is missing.
#
#   deps.sh               for every suite
#   deps.sh java node     for these
#
# Debian packages need root, or sudo. Everything else stays in build/interop, node_modules and Maven's local repository.
set -euo pipefail
exec </dev/null

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
build=$(dirname -- "$here")/build/interop
suites=${*:-java spring spring-cloud-stream tools python celery rabbitmqadmin node go prometheus rabbit-hole client-tests}

say() { echo "interop/deps: $*"; }

wants() { case " $suites " in *" $1 "*) return 0 ;; esac; return 1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# at_least VERSION MAJOR compares the first number of what a command says of itself, such as "javac 17.0.15".
at_least() { [[ $1 =~ [0-9]+ ]] && [ "${BASH_REMATCH[0]}" -ge "$2" ]; }

have_jdk() { at_least "$(javac -version 2>/dev/null)" 17; }
have_node() { at_least "$(node --version 2>/dev/null)" 18; }
have_python() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

packages=()
if wants java || wants spring || wants spring-cloud-stream || wants tools; then
	have_jdk || packages+=(default-jdk-headless)
	command -v mvn >/dev/null || packages+=(maven)
fi
if wants node || wants client-tests; then
	have_node || packages+=(nodejs)
	command -v npm >/dev/null || packages+=(npm)
fi
if wants python || wants celery || wants client-tests; then
	have_python || packages+=(python3 python3-venv)
fi
if wants rabbitmqadmin; then
	[ -x /usr/bin/python3 ] || packages+=(python3) # the script asks for this one
fi
if wants rabbit-hole || wants client-tests; then
	command -v unshare >/dev/null || packages+=(util-linux)
	command -v ip >/dev/null || packages+=(iproute2)
fi
if [ ${#packages[@]} -gt 0 ]; then
	say "will install the Debian packages ${packages[*]}"
	as_root apt-get update -qq
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
else
	say "no Debian package is missing"
fi

# once NAME FILE... -- COMMAND runs the command unless it has succeeded before with the same contents of these files.
once() {
	local name=$1 stamp sum
	shift
	local files=()
	while [ "$1" != -- ]; do
		files+=("$1")
		shift
	done
	shift
	stamp=$build/deps.$name
	sum=$(cat -- "${files[@]}" | sha256sum)
	if [ -f "$stamp" ] && [ "$(cat -- "$stamp")" = "$sum" ]; then
		say "$name: everything is there"
		return
	fi
	"$@"
	echo "$sum" >"$stamp"
}

# Runs the tests that need no broker; then Maven has all that the others need.
maven() {
	say "$1: will fetch what interop/$1/pom.xml names, with Maven"
	mvn -B -ntp -q -Dstyle.color=never -f "$here/$1/pom.xml" test -Dtest="$2"
}

# python SUITE VENV gives a suite an environment of its own.
python() {
	say "$1: will install $(tr '\n' ' ' <"$here/$1/requirements.txt")into build/interop/$2"
	python3 -m venv --clear "$build/$2"
	"$build/$2/bin/python" -m pip install -q --disable-pip-version-check -r "$here/$1/requirements.txt"
}

node_modules() {
	say "node: will install what interop/node/package-lock.json names into interop/node/node_modules"
	npm ci --prefix "$here/node" --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
}

# The script out of Debian's package, which is not installed: no server is started, and none has to be stopped.
rabbitmqadmin() {
	say "rabbitmqadmin: will take it out of Debian's rabbitmq-server"
	local directory
	directory=$(mktemp -d)
	chmod 0755 "$directory" # apt fetches as a user of its own
	if ! (cd -- "$directory" && apt-get download -qq rabbitmq-server >/dev/null 2>&1); then
		as_root apt-get update -qq
		(cd -- "$directory" && apt-get download -qq rabbitmq-server)
	fi
	dpkg-deb --fsys-tarfile "$directory"/rabbitmq-server_*.deb | tar -xO ./usr/bin/rabbitmqadmin >"$build/rabbitmqadmin"
	rm -rf "$directory"
	chmod +x "$build/rabbitmqadmin"
	[ -s "$build/rabbitmqadmin" ]
}

rabbit_hole() {
	say "rabbit-hole: will fetch what interop/rabbit-hole/go.mod names"
	(cd -- "$here/rabbit-hole" && go mod download && go test -c -o /dev/null github.com/michaelklishin/rabbit-hole/v3)
}

# prometheus takes prometheus and promtool out of Debian's package: nothing is installed, and no service is started.
prometheus() {
	say "prometheus: will take prometheus and promtool out of Debian's package"
	local directory
	directory=$(mktemp -d)
	chmod 0755 "$directory" # apt fetches as a user of its own
	if ! (cd -- "$directory" && apt-get download -qq prometheus >/dev/null 2>&1); then
		as_root apt-get update -qq
		(cd -- "$directory" && apt-get download -qq prometheus)
	fi
	rm -rf "$build/prometheus"
	mkdir -p "$build/prometheus"
	dpkg-deb -x "$directory"/prometheus_*.deb "$build/prometheus"
	rm -rf "$directory"
}

mkdir -p "$build"
[ -x "$build/prometheus/usr/bin/promtool" ] || rm -f "$build/deps.prometheus"
[ -x "$build/venv/bin/python" ] || rm -f "$build/deps.python"
[ -x "$build/venv-celery/bin/python" ] || rm -f "$build/deps.celery"
[ -d "$here/node/node_modules" ] || rm -f "$build/deps.node"
if wants java; then once java "$here/java/pom.xml" -- maven java 'DeathTest,WindowsWordsTest'; fi
if wants spring; then once spring "$here/spring/pom.xml" -- maven spring TtlDlxConfigTest; fi
if wants spring-cloud-stream; then
	once spring-cloud-stream "$here/spring-cloud-stream/pom.xml" -- maven spring-cloud-stream AttemptsTest
fi
if wants python; then once python "$here/python/requirements.txt" -- python python venv; fi
if wants celery; then once celery "$here/celery/requirements.txt" -- python celery venv-celery; fi
if wants node; then once node "$here/node/package-lock.json" -- node_modules; fi
if wants tools; then once tools "$here/tools/pom.xml" -- maven tools 'ContainerTest#closedPort'; fi
[ -x "$build/rabbitmqadmin" ] || rm -f "$build/deps.rabbitmqadmin"
if wants rabbitmqadmin; then once rabbitmqadmin "$here/deps.sh" -- rabbitmqadmin; fi
if wants rabbit-hole; then once rabbit-hole "$here/rabbit-hole/go.mod" -- rabbit_hole; fi
if wants prometheus; then once prometheus "$here/deps.sh" -- prometheus; fi
if wants client-tests; then (cd -- "$here/.." && go run ./interop/clienttests -get -short); fi
if wants go; then say "go: needs nothing but the modules in go.mod"; fi
