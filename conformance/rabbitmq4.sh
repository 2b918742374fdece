#!/bin/sh
# A private rabbitmq-server of series 4, Debian 13's, in a chroot: rabbitmq.sh with other settings, and the same words.
#
# RABBITMQ_PRIVATE_PORT (25690) and RABBITMQ_PRIVATE_DIR (build/rabbitmq4, which keeps the chroot) are as there.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
export RABBITMQ_PRIVATE_RELEASE=trixie
export RABBITMQ_PRIVATE_PORT="${RABBITMQ_PRIVATE_PORT:-25690}"
export RABBITMQ_PRIVATE_DIR="${RABBITMQ_PRIVATE_DIR:-$here/../build/rabbitmq4}"
exec "$here/rabbitmq.sh" "$@"
