#!/bin/sh
# Makes the Debian packages of a binary that is there already, without debhelper: dpkg-deb is all it takes.
#
#   build.sh BINARY VERSION ARCHITECTURE DIRECTORY
#
# VERSION is what `git describe` says, or what Debian would; ARCHITECTURE is Go's word. It leaves in DIRECTORY
#   bartleby_VERSION_ARCH.deb                  the broker: binary, systemd unit, configuration, manual page, completion
#   bartleby-rabbitmq-tools_VERSION_all.deb    rabbitmqctl and its sisters as names of the binary, rabbitmq-server.service as one
#                                              of the service; not beside a RabbitMQ
# The same input gives the same bytes, with the time of the last commit or of SOURCE_DATE_EPOCH.
set -eu
[ $# = 4 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 64; }

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$here/../..
binary=$(realpath -- "$1") out=$4
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

# v1.2.3-4-gabcdef0 is four commits after 1.2.3. What has no number yet comes before every number, in the order of time.
version=$(echo "${2#v}" | sed -E 's/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/; s/-dirty$/+dirty/; s/[^A-Za-z0-9.+~]/./g')
case $version in
[0-9]*.*) ;;
*) version=0~git$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M).$version ;;
esac

case $3 in
386) arch=i386 ;;
arm) arch=armhf ;;
ppc64le) arch=ppc64el ;;
*) arch=$3 ;; # amd64, arm64, riscv64, s390x
esac

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# What the binary says of itself is asked of one that runs here, if it is for another machine.
speaker=$binary
if ! "$speaker" version >/dev/null 2>&1; then
	speaker=$temporary/speaker
	GOARCH= GOOS= go build -C "$root" -buildvcs=false -o "$speaker" ./cmd/bartleby
fi

# put MODE FROM TO installs a file.
put() { install -D -m "$1" "$2" "$tree$3"; }

# documents puts what every package has into doc/.
documents() {
	put 0644 "$here/copyright" "/usr/share/doc/$1/copyright"
	gzip -9n <"$root/CHANGELOG.md" >"$tree/usr/share/doc/$1/CHANGELOG.md.gz"
	chmod 0644 "$tree/usr/share/doc/$1/CHANGELOG.md.gz"
}

# control NAME ARCHITECTURE fills in the template, and sums what the package has.
control() {
	mkdir -p "$tree/DEBIAN"
	size=$(du -sk --exclude=DEBIAN "$tree" | cut -f1)
	sed "s/@VERSION@/$version/g; s/@ARCHITECTURE@/$2/; s/@SIZE@/$size/" "$here/$1.control" >"$tree/DEBIAN/control"
	(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
	chmod 0644 "$tree/DEBIAN/control" "$tree/DEBIAN/md5sums"
}

# pack NAME ARCHITECTURE
pack() {
	find "$tree" -type d -exec chmod 0755 {} +
	find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/$1_${version}_$2.deb"
}

mkdir -p "$out"
rm -f "$out"/bartleby_*.deb "$out"/bartleby-rabbitmq-tools_*.deb

tree=$temporary/bartleby
put 0755 "$binary" /usr/bin/bartleby
put 0644 "$here/../systemd/bartleby.service" /usr/lib/systemd/system/bartleby.service
put 0644 "$here/bartleby.conf" /etc/bartleby/bartleby.conf
put 0644 "$here/bartleby.default" /etc/default/bartleby
put 0644 "$here/bartleby.1" /usr/share/man/man1/bartleby.1
gzip -9n "$tree/usr/share/man/man1/bartleby.1"
for shell in bash:bash-completion/completions/bartleby zsh:zsh/vendor-completions/_bartleby fish:fish/vendor_completions.d/bartleby.fish; do
	"$speaker" completion "${shell%%:*}" >"$temporary/completion"
	put 0644 "$temporary/completion" "/usr/share/${shell#*:}"
done
documents bartleby
control bartleby "$arch"
printf '%s\n' /etc/bartleby/bartleby.conf /etc/default/bartleby >"$tree/DEBIAN/conffiles"
for script in postinst prerm postrm; do
	install -m 0755 "$here/bartleby.$script" "$tree/DEBIAN/$script"
done
pack bartleby "$arch"

tree=$temporary/tools
# RabbitMQ's own packages have the tools in sbin, where scripts call them by path.
mkdir -p "$tree/usr/bin" "$tree/usr/sbin" "$tree/usr/lib/systemd/system" "$tree/usr/share/doc/bartleby-rabbitmq-tools"
for name in rabbitmqctl rabbitmq-diagnostics rabbitmq-plugins rabbitmq-queues rabbitmq-upgrade rabbitmqadmin; do
	ln -s bartleby "$tree/usr/bin/$name"
	[ "$name" = rabbitmqadmin ] && continue
	ln -s ../bin/bartleby "$tree/usr/sbin/$name"
	for shell in "bash:bash-completion/completions/$name" "zsh:zsh/vendor-completions/_$name" "fish:fish/vendor_completions.d/$name.fish"; do
		"$speaker" as "$name" completion "${shell%%:*}" >"$temporary/completion"
		put 0644 "$temporary/completion" "/usr/share/${shell#*:}"
	done
done
ln -s bartleby.service "$tree/usr/lib/systemd/system/rabbitmq-server.service" # systemctl restart rabbitmq-server
documents bartleby-rabbitmq-tools
control bartleby-rabbitmq-tools all
pack bartleby-rabbitmq-tools all
