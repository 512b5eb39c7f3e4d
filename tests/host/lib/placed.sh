# shellcheck shell=bash
# Words for scenarios about where homenode has put a guest. Nodes of the machine have two CPUs each: node N has 2N and 2N+1.

node_cpus() { echo "$((2 * $1))-$((2 * $1 + 1))"; }

# wish ATTRIBUTES: homenode's metadata with these, for guest_xml's metadata=
wish() { echo "<homenode:domain xmlns:homenode='urn:homenode:1' $1/>"; }

# on_cpus LIST: filters "thread …" lines of a report, leaving those that may run elsewhere.
elsewhere() {
	awk -v first="${1%-*}" -v last="${1#*-}" '$1 == "thread" {
		n = split($4, parts, /[-,]/)
		for (i = 1; i <= n; i++)
			if (parts[i] < first || parts[i] > last) { print; next }
	}'
}

# home_of NAME: its home as the ledger has it.
home_of() {
	vm "homenode explain --json $(printf %q "$1")" | tr -d ' \n' | sed -n 's/.*"home":"\([0-9,-]*\)".*/\1/p'
}

# assert_whole_on NAME NODE [KIB]: RAM (all of it, if KIB is given) and threads are there, and nowhere else; the scope has the memory
# set, and is open for CPUs again.
assert_whole_on() {
	local report memory
	report=$(guest_report "$1")
	memory=$(awk '$1 == "cell" { kib[$3] += $4 } END { for (node in kib) print node, kib[node] }' <<<"$report")
	if [ -n "${3-}" ]; then
		assert_eq "$memory" "$2 $3" "memory of $1"
	else
		assert_eq "${memory%% *}" "$2" "memory of $1"
		assert_eq "$(wc -l <<<"$memory")" 1 "nodes with memory of $1"
	fi
	assert_eq "$(elsewhere "$(node_cpus "$2")" <<<"$report")" '' "threads of $1 off node $2"
	assert_eq "$(cg "$1" cpuset.mems)" "$2" "memory set of $1"
	assert_eq "$(cg "$1" cpuset.cpus.effective)" 0-7 "CPUs of the scope of $1"
}

# node_of NAME: the one node that has its RAM.
node_of() {
	local nodes
	nodes=$(mem_by_node "$1" | awk '{ print $1 }')
	[[ $nodes =~ ^[0-9]+$ ]] || fail "memory of $1 is on nodes $(xargs <<<"$nodes")"
	echo "$nodes"
}

# kib_on NAME NODE: how much of its memory is on that node.
kib_on() { mem_by_node "$1" | awk -v node="$2" '$1 == node { kib = $2 } END { print kib + 0 }'; }

# hook_ms NAME: what the hook took for all calls of a guest together, by its own log, in whole ms.
hook_ms() {
	vm 'journalctl -q -b -t homenode-hook -o cat' |
		awk -v name="$1:" '$2 == name && match($0, /\([0-9.]+ ms\)$/) { sum += substr($0, RSTART + 1) }
			$2 == name && match($0, /after [0-9.]+ ms/) { sum += substr($0, RSTART + 6) }
			END { print int(sum + 0.5) }'
}

# hook_says NAME: its lines about a guest.
hook_says() { vm 'journalctl -q -b -t homenode-hook -o cat' | awk -v name="$1:" '$2 == name'; }

drop_ins() { vm 'ls -d /run/systemd/system/machine-*.scope.d 2>/dev/null || true'; }
no_drop_ins() { [ -z "$(drop_ins)" ]; }

# daemon_says NAME: homenoded's lines about a guest.
daemon_says() { vm 'journalctl -q -b -t homenoded -o cat' | awk -v name="$1:" '$1 == name'; }

sweep=31 # seconds from one sweep of the daemon to the next, and a bit
# load_settled: nothing was published for two periods and a bit: what starts of guests and of libvirtd took has been forgotten.
load_settled() { [ -z "$(vm 'find /run/homenode -maxdepth 1 -name "*.json" -newermt "-25 seconds"')" ]; }

# published: which files of load there are; each is replaced when it changes.
published() { vm 'cd /run/homenode && ls -i state.json guests.json 2>/dev/null' || true; }

# traced_writes SECONDS: what homenoded does in that time that changes something.
traced_writes() {
	vm 'cd /sys/kernel/tracing && pidof homenoded >set_event_pid && echo "flags & 3" >events/syscalls/sys_enter_openat/filter &&
		for call in openat sched_setaffinity rename renameat renameat2 unlink unlinkat; do
			echo 1 >events/syscalls/sys_enter_$call/enable; done && echo >trace && echo 1 >tracing_on'
	sleep "$1"
	vm 'cd /sys/kernel/tracing && echo 0 >events/syscalls/enable && grep -v "^#" trace' || true
}

# daemon_writes SECONDS: what homenoded does in that time that changes something: files opened to write to, moved or deleted, and
# affinities set. The state has to be steady for that: where the computer that runs this test disturbs the load meanwhile, so that
# it is published anew, the time begins again, four times at most.
daemon_writes() {
	local before written='' attempt
	for attempt in 1 2 3 4; do
		wait_until 180 load_settled
		before=$(published)
		written=$(traced_writes "$1")
		[ "$(published)" != "$before" ] || break
		say "load has changed in steady state, time $attempt" >&2
	done
	printf '%s' "$written"
}

# unmeasured: without the daemon, and so without load: what the hook decides then follows from promises and the host alone, and not
# from what the computer that runs this test happens to do.
unmeasured() { vm 'systemctl stop homenoded && rm -f /run/homenode/state.json /run/homenode/guests.json'; }

# metadata_set NAME ATTRIBUTES OPTION…: homenode's element, by virsh metadata with --live or --config.
metadata_set() {
	local name=$1 wish=$2
	shift 2
	vm "virsh -q metadata $(printf %q "$name") urn:homenode:1 --key homenode --set $(printf %q "<domain $wish/>") $* >/dev/null"
}

# sets_of NAME: what is in force for its scope and every thread group, and where each kind of thread may run, in one call. vCPUs and
# iothreads by name, all others of QEMU's together: which of them carry a name depends on how far QEMU was when it made them. Its
# workers, which come and go, are left out.
sets_of() {
	vm "cd \"\$($guest_report $(printf %q "$1") scope)\" && grep -s . cpuset.*.effective libvirt/cpuset.*.effective libvirt/*/cpuset.*.effective
		awk '/^Name:/ { name = \$2 ~ /^(CPU|IO|worker)/ ? \$2 \$3 : \"others\" }
			/^Cpus_allowed_list:/ && name !~ /^worker/ { print name, \$2 }' \
			/proc/\$(cat /run/libvirt/qemu/$(printf %q "$1").pid)/task/*/status | sort -u"
}

# hold_of NAME: what homenode holds a running guest with: the scope's properties as systemd has them, its own sets, drop-ins.
hold_of() {
	vm "scope=\$($guest_report $(printf %q "$1") scope); unit=\$(basename \"\$scope\")
		systemctl show -p AllowedCPUs -p AllowedMemoryNodes -- \"\$unit\"
		cd \"\$scope\" && grep . cpuset.cpus cpuset.mems; cd /run/systemd/system && ls -d \"\$unit.d\" 2>/dev/null || true"
}
