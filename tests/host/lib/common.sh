# shellcheck shell=bash
# What every program of the test machine shares: the cache, progress lines, locks, time limits.

host_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${HOMENODE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/homenode}
readonly host_dir cache

say() { printf '%s\n' "$*" >&2; }

die() {
	say "$(basename "$0"): $*"
	exit 1
}

# limit SECONDS CMD…: an external command with a time limit. In the foreground, so that an
# interrupt from the terminal reaches the command and not only us.
limit() {
	local seconds=$1
	shift
	timeout --foreground --kill-after=10 "$seconds" "$@"
}

# step TEXT CMD…: run CMD with its output in a log, print one line with the seconds it took,
# and the end of the log if it failed.
step() {
	local text=$1 began=$SECONDS log status=0
	shift
	log=$(mktemp)
	[ ! -t 2 ] || printf '%s …\r' "$text" >&2
	# Not "if": a function called as a condition would go on after its first failure.
	set +e
	(set -e; "$@") >"$log" 2>&1
	status=$?
	set -e
	if [ $status -eq 0 ]; then
		say "$text … $((SECONDS - began)) s"
	else
		say "$text … failed after $((SECONDS - began)) s; the end of its output:"
		tail -n 30 "$log" >&2
	fi
	rm -f "$log"
	return $status
}

# wait_for SECONDS CMD…: until CMD succeeds; false when the time is up.
wait_for() {
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.3
	done
}

# lock NAME SECONDS: one holder at a time, until unlock or the end of this process.
declare -A held=()

lock() {
	local fd
	mkdir -p "$cache/locks"
	exec {fd}>"$cache/locks/$1"
	flock -w "$2" "$fd" || die "another run holds $cache/locks/$1 for more than $2 s"
	held[$1]=$fd
}

unlock() {
	local fd=${held[$1]}
	exec {fd}>&-
	unset "held[$1]"
}

# unlocked CMD…: for what outlives us (QEMU, the ssh master); with the descriptors of our locks
# it would hold these for as long as it lives.
unlocked() (
	for fd in "${held[@]}"; do
		exec {fd}>&-
	done
	"$@"
)

debian_release() {
	case $1 in
	trixie) echo 13 ;;
	bookworm) echo 12 ;;
	*) die "unknown suite '$1': trixie or bookworm" ;;
	esac
}

# package_list FILE…: the names in package lists, joined by commas; '#' starts a comment.
package_list() { sed 's/#.*//' "$@" | xargs | tr ' ' ,; }

# digest: the cache key of what comes on standard input.
digest() { sha256sum | cut -c1-16; }
