#!/usr/bin/env bash
# Says what the browser suite needs on this machine, and installs what is missing. Quick when all is there.
#
#   deps.sh            all of it
#   deps.sh modules    what the lint suite needs: node, npm and what package-lock.json names
#
# Debian packages need root, or sudo; the rest goes to browser/node_modules.
set -euo pipefail
exec </dev/null

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
stamp=$(dirname -- "$here")/build/browser/deps

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# have_node tells whether node is there, of version 18 or later.
have_node() { [[ $(node --version 2>/dev/null) =~ ^v([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 18 ]; }

packages=()
if [ "${1:-}" != modules ]; then
	command -v "${CHROMIUM:-/usr/bin/chromium-headless-shell}" >/dev/null || packages+=(chromium-headless-shell)
	[ -d /usr/share/doc/fonts-noto-cjk ] || packages+=(fonts-noto-cjk)
fi
have_node || packages+=(nodejs)
command -v npm >/dev/null || packages+=(npm)
if [ ${#packages[@]} -gt 0 ]; then
	echo "browser/deps: will install the Debian packages ${packages[*]}"
	as_root apt-get update -qq
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
else
	echo "browser/deps: no Debian package is missing"
fi

sum=$(sha256sum <"$here/package-lock.json")
if [ -d "$here/node_modules/playwright-core" ] && [ "$(cat -- "$stamp" 2>/dev/null)" = "$sum" ]; then
	echo "browser/deps: node_modules has what package-lock.json names"
	exit
fi
if [ -L "$here/node_modules" ]; then
	echo "browser/deps: node_modules is a link: npm would empty the directory behind it; remove the link" >&2
	exit 1
fi
echo "browser/deps: will install what browser/package-lock.json names into browser/node_modules"
npm ci --prefix "$here" --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
mkdir -p "$(dirname -- "$stamp")"
echo "$sum" >"$stamp"
