#!/bin/sh
# Finds a Python that is new enough and lets it do the set-up (python -m deploy.setup); run by `make setup`.
# INFLIGHT_SETUP_APT=0 keeps it from installing Debian packages when run as root. Standard output stays empty.
set -eu
cd "$(dirname "$0")/../.."

new_enough() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        if new_enough "$PYTHON"; then echo "$PYTHON"; fi
        return
    fi
    for candidate in .venv/bin/python python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ] && [ -z "${PYTHON:-}" ] && [ "${INFLIGHT_SETUP_APT:-1}" != 0 ] &&
    [ -e /etc/debian_version ] && [ "$(id -u)" = 0 ]; then
    echo "setup: no Python 3.11 or newer here; installing Debian's: apt-get install python3 python3-venv python3-dev" >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        python3 python3-venv python3-dev; } >&2 || echo "setup: apt-get failed, see above" >&2
    python=$(find_python)
fi
if [ -z "$python" ]; then
    asked=${PYTHON:-python3}
    found=$("$asked" --version 2>&1) || found="there is no working $asked on the PATH"
    cat >&2 <<EOF
setup: Inflight needs Python 3.11 or newer; here: $found.
  Debian 12, Ubuntu 24.04 or newer: apt-get install python3 python3-venv python3-dev
  Fedora: dnf install python3 python3-devel
  Installed elsewhere: make setup PYTHON=/path/to/python3
EOF
    exit 2
fi
exec "$python" -m deploy.setup "$@"
