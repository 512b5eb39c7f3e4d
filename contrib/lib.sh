# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# What contrib/try and contrib/check share: say what is being done, install what is missing, build.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${HOMENODE_BUILD:-$top/build}
started=$SECONDS

# step TEXT: a line of progress with the minutes since the start
step() {
        printf '[%2d:%02d] %s\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) "$*"
}

die() {
        printf '%s: %s\n' "${0##*/}" "$*" >&2
        exit 1
}

need_root() {
        [ "$(id -u)" -eq 0 ] || die "needs root (it installs packages and makes system images): sudo $0"
}

# run_logged NAME COMMAND…: its output goes to a file, whose end is shown if it fails
run_logged() {
        local name=$1 log=$build/log/$1
        shift
        mkdir -p "$build/log"
        if ! "$@" >"$log" 2>&1; then
                printf -- '--- %s failed; the end of %s:\n' "$name" "$log" >&2
                tail -n 60 "$log" >&2
                return 1
        fi
}

missing_packages() {
        cat "$@" | grep -v '^#' | sort -u | while read -r package; do
                dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || echo "$package"
        done
}

# install_packages FILE…: those in the lists that are not there yet
install_packages() {
        local missing
        command -v apt-get >/dev/null || die "knows Debian and its relatives only; install what is listed in: $*"
        missing=$(missing_packages "$@")
        [ -n "$missing" ] || return 0
        step "installing $(echo "$missing" | wc -w) packages"
        export DEBIAN_FRONTEND=noninteractive
        run_logged apt-update apt-get -q -o DPkg::Lock::Timeout=300 update || return 1
        # shellcheck disable=SC2086
        run_logged apt-install apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing
}

# clang's sanitizers and fuzzer are in a package that is named after its version
install_clang_runtime() {
        local list
        list=$(mktemp)
        echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" >"$list"
        install_packages "$list"
        rm -f "$list"
}

# configure_in NAME ARGUMENT…: a build folder of that name, configured
configure_in() {
        local dir=$build/$1
        shift
        [ -x "$top/configure" ] || (cd "$top" && autoreconf -fi)
        mkdir -p "$dir"
        (cd "$dir" && "$top/configure" --quiet "$@")
}
