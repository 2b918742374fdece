# Bartleby. `make` prints what can be made; the README says what it is.

# What `make test` runs: names, or names to leave out (SUITES="unit lint", SUITES="-interop"); empty: all of them.
SUITES ?=
# How many seeds the sim suite tries, how long a soak lasts, what plants the faults.
SEEDS ?= 2000
SOAK ?= 1h
MUTANTS ?= go run ./internal/sim/mutants
# How long the fuzz suite tries each of its targets.
TIME ?= 1m
# How many full disks the fullsim suite simulates.
DISKS ?= 20000
# How many small disks the fulldisk suite fills.
TRIALS ?= 200
# What `bartleby version` prints.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

export SEEDS DISKS SOAK MUTANTS TRIALS
export FUZZ = $(TIME)

.PHONY: help build deb image deps test lint unit race sim mutants conformance kill packages interop interop-suites browser \
	soak sim-cluster fullsim fuzz crashtest fulldisk conformance-rabbitmq conformance-rabbitmq4 bench bench-compare profile stalls \
	crowd curves clean

help:
	@echo 'make build       build/bartleby, one static binary'
	@echo 'make deb         build/bartleby_VERSION_ARCH.deb, and RabbitMQ'"'"'s command names as a separate package'
	@echo 'make image       build/bartleby-image.tar, a container image for podman load or docker load; no daemon needed'
	@echo 'make deps        lists and installs the dependencies of the test suites'
	@echo 'make test        every suite; SUITES="unit lint" runs only these, SUITES="-interop" all except this one'
	@echo 'make NAME        one suite or long run:'
	@go run ./scripts/suites -list | sed 's/^/  /'
	@echo 'make bench       compares Bartleby with rabbitmq-server; bench/README.md has the figures'
	@echo 'make bench-compare BASE=REVISION   compares the working tree with another revision, in alternate runs'
	@echo 'make profile     renews cmd/bartleby/default.pgo, the profile that the compiler optimizes by'
	@echo 'make stalls      latency of a message during purges, commits, redrives of large messages; fails above 30 ms'
	@echo 'make crowd       memory of 100,000 queues and of clients that do not read; fails above 3 KiB per queue or 640 MiB'
	@echo 'make curves      cost of a message by its size, by queues, connections, and waiting messages'
	@echo 'make clean       removes build/'

build:
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o build/bartleby ./cmd/bartleby

# Both are for the machine's own architecture, or for GOARCH.
deb: build
	packaging/deb/build.sh build/bartleby "$(VERSION)" "$$(go env GOARCH)" build

# The program that writes the image runs here, whatever GOARCH the image is for.
image: build
	architecture=$$(go env GOARCH) && GOARCH= GOOS= go run -buildvcs=false ./scripts/image -binary build/bartleby \
		-architecture "$$architecture" -version "$(VERSION)" \
		-time "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)}" -out build/bartleby-image.tar

deps:
	@scripts/deps.sh $(SUITES)

# It calls `make deps` first; if that fails, the suites that can run still do.
test:
	@go build -buildvcs=false -o build/suites ./scripts/suites
	@exec build/suites -- $(SUITES)

lint unit race sim mutants conformance kill packages interop interop-suites browser soak sim-cluster fullsim fuzz crashtest fulldisk conformance-rabbitmq conformance-rabbitmq4:
	@$(MAKE) --no-print-directory test SUITES=$@

bench: build
	bench/run.sh build/bartleby

bench-compare:
	bench/compare.sh "$(BASE)"

profile: build
	bench/profile.sh build/bartleby

stalls crowd curves: build
	bench/$@.sh build/bartleby

clean:
	rm -rf build
