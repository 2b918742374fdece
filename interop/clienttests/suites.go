package main

import "time"

// A suite is what one package brings.
type suite struct {
	name  string
	about string
	short bool // part of `make test`; the others run only when they are named, or all of them

	// get fetches the package and builds its tests, with bash in the directory of the suite. It runs again when the
	// text changes. It is the only step with a network.
	get string
	// run runs the tests, with bash in the same directory, and writes to the file results. AMQP_URL, MANAGEMENT_URL
	// and CTL, the command that behaves as rabbitmqctl, name the broker.
	run   string
	read  reader
	limit time.Duration

	users []string // administrators beside guest, as name:password
	setup string   // further commands before the tests, with CTL
}

// pip makes an environment of its own with the packages after it, then unpacks the source of the first into src.
const pip = `
pip() {
	python3 -m venv --clear venv
	venv/bin/pip install -q --disable-pip-version-check pytest==8.4.2 pytest-timeout==2.4.0 setuptools==80.9.0 "$@"
	venv/bin/pip download -q --disable-pip-version-check --no-deps --no-build-isolation --no-binary :all: -d sdist "$1"
	rm -rf src && mkdir src
	tar -xzf sdist/*.tar.gz -C src --strip-components=1
	rm -rf sdist
}
`

// pytest runs the source's tests against the installed package, whose name the source must not hide.
const pytest = `
cd src
../venv/bin/python -m pytest -q -p no:cacheprovider --disable-warnings --timeout=60 --junitxml=../results `

// gomodule copies the module that is named after it: what the module cache holds cannot be written to.
const gomodule = `
gomodule() {
	local directory
	directory=$(go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	[ -n "$directory" ] || return 1
	rm -rf src
	cp -r "$directory" src
	chmod -R u+w src
}
`

// crate copies the source of the named crate and builds its tests. All crates share what they depend on.
const crate = `
crate() {
	local manifest
	command -v cargo >/dev/null || { echo "cargo, of Rust 1.94 or later, is not there"; return 1; }
	rm -rf src fetch
	cargo init -q --bare --vcs none --name fetch fetch 2>/dev/null || cargo init -q --vcs none --name fetch fetch
	cargo add -q --manifest-path fetch/Cargo.toml "$1@=$2"
	manifest=$(cargo metadata -q --format-version 1 --manifest-path fetch/Cargo.toml |
		grep -o "\"manifest_path\":\"[^\"]*/$1-$2/Cargo.toml\"" | head -n 1 | cut -d '"' -f 4)
	[ -n "$manifest" ] || return 1
	cp -r "$(dirname -- "$manifest")" src
	rm -rf fetch
	shift 2
	cd src && CARGO_TARGET_DIR=../../target cargo test -q --no-run "$@"
}
`

// suites is the table, in the order of running.
var suites = []suite{
	{
		name: "py-amqp", about: "amqp, the client under kombu and Celery: its integration tests", short: true,
		get:  pip + `pip amqp==5.4.2`,
		run:  `rm -rf src/amqp` + pytest + `t/integration/test_rmq.py -k "not tls"`,
		read: readJUnit, limit: 3 * time.Minute,
	},
	{
		name: "kombu", about: "kombu: its integration tests of AMQP",
		get:  pip + `pip kombu==5.7.0 pytest-rerunfailures==15.1 pytest-freezer==0.4.9 pytz amqp==5.4.2`,
		run:  `rm -rf src/kombu` + pytest + `t/integration/test_py_amqp.py`,
		read: readJUnit, limit: 5 * time.Minute,
	},
	{
		name: "amqpstorm", about: "AMQPStorm: its functional tests, the management API's too",
		setup: `"$CTL" set_cluster_name rabbit@rmq.eandersson.net`, // a test asks for it
		get:   pip + `pip AMQPStorm==3.1.4 requests==2.32.5`,
		run: `export AMQP_HOST=localhost AMQP_USERNAME=guest AMQP_PASSWORD=guest AMQP_URI=$AMQP_URL AMQP_HTTP_URL=$MANAGEMENT_URL` +
			pytest + `amqpstorm/tests/functional --ignore amqpstorm/tests/functional/ssl`,
		read: readJUnit, limit: 10 * time.Minute,
	},
	{
		name: "rabbitpy", about: "rabbitpy: all its tests",
		get:  pip + `pip rabbitpy==3.0.2 hatchling==1.27.0 python-dotenv==1.1.1`,
		run:  `export RABBITMQ_URL=$AMQP_URL RABBITMQ_MANAGEMENT_URL=$MANAGEMENT_URL` + pytest + `tests`,
		read: readJUnit, limit: 5 * time.Minute,
	},
	{
		name: "amqplib", about: "amqplib: its tutorials and examples, of promises and of callbacks", short: true,
		get: `
npm install --silent --no-audit --no-fund --ignore-scripts --prefix . amqplib@2.3.1 uuid@11.1.0 co@4.6.0
rm -rf src && cp -r node_modules/amqplib src
mkdir -p src/node_modules && cp -r node_modules/. src/node_modules/
`,
		run:  `node "$SUITES/amqplib.js" src >results`,
		read: readTAP, limit: 3 * time.Minute,
	},
	{
		name: "amqp091-go", about: "RabbitMQ's Go client: all its tests",
		get:  gomodule + `gomodule github.com/rabbitmq/amqp091-go@v1.16.0 && cd src && go test -tags integration -c -o ../tests .`,
		run:  `cd src && go tool test2json -t ../tests -test.v=test2json -test.timeout=15m >../results`,
		read: readGoTest, limit: 20 * time.Minute,
	},
	{
		name: "streadway-amqp", about: "the Go client before that, which many programs still use: all its tests",
		get:  gomodule + `gomodule github.com/streadway/amqp@v1.1.0 && cd src && go test -tags integration -c -o ../tests .`,
		run:  `cd src && go tool test2json -t ../tests -test.v=test2json -test.timeout=10m -test.skip=TestTLSHandshake >../results`,
		read: readGoTest, limit: 15 * time.Minute,
	},
	{
		name: "lapin", about: "lapin, a client in Rust: all its tests",
		get:  crate + `crate lapin 4.12.3 --tests --features tokio,smol`,
		run:  `cd src && export AMQP_ADDR=amqp://127.0.0.1:5672/%2f && CARGO_TARGET_DIR=../../target cargo test --offline --no-fail-fast --tests --features tokio,smol -- --test-threads=1 >../results 2>&1`,
		read: readCargo, limit: 10 * time.Minute,
	},
	{
		name: "amqprs", about: "amqprs, a client in Rust: all its tests", users: []string{"user:bitnami"},
		get:  crate + `crate amqprs 2.1.5 --tests --features traces,urispec`,
		run:  `cd src && export RUST_LOG=off && CARGO_TARGET_DIR=../../target cargo test --offline --no-fail-fast --tests --features traces,urispec -- --test-threads=1 >../results 2>&1`,
		read: readCargo, limit: 15 * time.Minute,
	},
	{
		name: "rabbitmq_http_client", about: "RabbitMQ's client of the management API in Rust: its integration tests",
		users: []string{"rust3:rust3"},
		// What the package's own script for a broker under test does.
		setup: `"$CTL" add_vhost rust/http/api/client && "$CTL" set_permissions -p rust/http/api/client guest ".*" ".*" ".*" &&
			"$CTL" set_cluster_name rabbitmq@localhost && "$CTL" enable_feature_flag all`,
		get:  crate + `crate rabbitmq_http_client 0.93.0 --test integration --no-default-features --features blocking,async,zeroize,native-tls`,
		run:  `cd src && CARGO_TARGET_DIR=../../target cargo test --offline --test integration --no-default-features --features blocking,async,zeroize,native-tls -- --test-threads=1 >../results 2>&1`,
		read: readCargo, limit: 20 * time.Minute,
	},
}
