#!/bin/bash
# Guests that run move: one cell by `homenode move`, two bound cells step by step over all nodes, with a daemon that is killed in the
# middle, with things plugged in afterwards; and what can't be is refused and changes nothing.
# limit: 1800
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

one_cell="<numa><cell id='0' cpus='0-1' memory='512' unit='MiB'/></numa>"
slots="<maxMemory slots='4' unit='MiB'>1024</maxMemory>"

# policies_of NAME: of its large mappings, in the order in which they were made (each below the last).
policies_of() {
	vm "awk '/ N[0-9]+=/ { n = 0; for (i = 3; i <= NF; i++) if (\$i ~ /^N[0-9]+=/) n += substr(\$i, index(\$i, \"=\") + 1)
		if (n > 20000) print \$1, \$2 }' /proc/$(guest_pid "$1")/numa_maps | sort -r | cut -d' ' -f2 | sed 's/[=a-z ]*static//' | xargs"
}

# local_on NAME NODE: thousandths of all its RAM.
local_on() {
	mem_by_node "$1" | awk -v node="$2" '{ sum += $2 } $1 == node { there = $2 } END { print int(there * 1000 / sum) }'
}

runs() { assert_eq "$(vm "virsh domstate $1")" running "state of $1"; }

# moved_to NAME NODE: all of it is there, within what QEMU touches while we look.
moved_to() {
	local report
	assert_eq "$(home_of "$1")" "$2" "home of $1"
	assert_ge "$(local_on "$1" "$2")" 990 "locality of $1, thousandths"
	report=$(guest_report "$1")
	assert_eq "$(elsewhere "$(node_cpus "$2")" <<<"$report")" '' "threads of $1 off node $2"
	assert_eq "$(cg "$1" cpuset.mems)" "$2" "memory set of $1"
	assert_eq "$(cg "$1" cpuset.cpus.effective)" 0-7 "CPUs of the scope of $1"
	runs "$1"
}

started() {
	local name
	# Nobody else is to move them.
	vm 'mkdir -p /etc/homenode/homenode.conf.d && printf "[balance]\nmode = off\n" >/etc/homenode/homenode.conf.d/still.conf &&
		systemctl reload homenoded' >&2
	for name in one twin; do
		wish="nodes='0'"
		[ $name = one ] || wish="placement='off'"
		guest_define $name 2 512 prealloc balloon vcpu="current='1'" cpu="$one_cell" extra="$slots" metadata="$(wish "$wish")"
		[ $name = twin ] || guest_start $name
	done
	metadata_set one "placement='auto'" --live
	wait_until 30 no_drop_ins
	moved_to one 0
	pid=$(guest_pid one)
}

one_moves() {
	say "$(vm 'time homenode move one 2' 2>&1)"
	moved_to one 2
	assert_eq "$(guest_pid one)" "$pid" 'process of one'
	say "of the process: $(mem_of_process one | xargs)"
	vm 'homenode status one; homenode explain one' >&2
}

refused() {
	local before order said
	before=$(sets_of one; hold_of one; home_of one)
	for order in 'one 7' 'one 1-2' 'nobody 1' '--cancel one' 'twin 1'; do
		if said=$(vm "homenode move $order" 2>&1); then
			fail "homenode move $order: $said"
		fi
		say "$order: $said"
	done
	assert_eq "$(sets_of one; hold_of one; home_of one)" "$before" 'one after orders that were refused'
}

# What is plugged in after a move lands on the new home.
plugged() {
	vm 'virsh -q iothreadadd one 1 --live && virsh -q setvcpus one 2 --live' >&2
	vm "echo \"<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>\" >dimm.xml &&
		virsh -q attach-device one dimm.xml --live" >&2
	sleep 5
	moved_to one 2
	assert_eq "$(cg one libvirt/vcpu1/cpuset.cpus) $(cg one libvirt/iothread1/cpuset.cpus)" "$(node_cpus 2) $(node_cpus 2)" 'CPUs of new threads'
}

moving() { vm 'homenode status --json one' | grep -q '"moving"'; }
resumed() { [ "$(home_of one)" = 3 ] && ! moving; }

killed() {
	vm 'homenode move one 3 >move.out 2>&1 </dev/null & sleep 0.1'
	wait_until 20 moving
	vm 'sleep 0.5; kill -9 $(pidof homenoded)'
	sleep 1
	say "when it was killed: $(mem_by_node one | xargs)"
	wait_until 240 resumed
	moved_to one 3
	daemon_says one >&2
	daemon_says one | grep -q 'going on with its move' || fail 'the daemon does not say that it went on'
	assert_eq "$(guest_pid one)" "$pid" 'process of one'
}

# Called off: wherever it is, all of it is allowed and nothing is left half done.
called_off() {
	vm 'homenode move one 1 >move.out 2>&1 </dev/null & sleep 1.5; homenode move --cancel one; wait; cat move.out' >&2 || true
	wait_until 30 eval '! moving'
	say "called off: home $(home_of one), $(mem_by_node one | xargs), memory set $(cg one cpuset.mems)"
	runs one
	vm 'homenode move one 2' >&2
	moved_to one 2
}

wide_started() {
	guest_define wide 4 512 prealloc metadata="$(wish "nodes='0,1'")"
	wait_until 30 eval "vm 'virsh dumpxml --inactive wide' | grep -q '<cell id=.1.'"
	guest_start wide
	wait_until 30 no_drop_ins
	assert_eq "$(home_of wide)" 0-1 'home of wide'
	assert_eq "$(policies_of wide)" 'bind:0 bind:1' 'policies of wide'
	metadata_set wide "placement='auto'" --live
}

# wide_on NODE NODE
wide_on() {
	local set=$1,$2 cell node kib
	[ $(($1 + 1)) != "$2" ] || set=$1-$2
	assert_eq "$(home_of wide)" "$set" 'home of wide'
	assert_eq "$(policies_of wide)" "bind:$1 bind:$2" 'policies of wide'
	for cell in 0 1; do
		node=$1
		[ $cell = 0 ] || node=$2
		kib=$(mem_of_cell wide $cell | awk -v node="$node" '$1 == node { print $2 }')
		assert_ge "${kib:-0}" $((262144 * 99 / 100)) "memory of cell $cell on node $node: $(mem_of_cell wide $cell | xargs)"
		assert_eq "$(cg wide "libvirt/vcpu$((2 * cell))/cpuset.cpus")" "$(node_cpus "$node")" "CPUs of cell $cell"
	done
	assert_eq "$(cg wide cpuset.mems)" "$set" 'memory set of wide'
	runs wide
}

wide_moves() {
	local step
	for step in 1-2 2-3 0,3; do
		say "$(vm "homenode move wide $step" 2>&1)"
		wide_on "${step%[-,]*}" "${step#*[-,]}"
	done
	if said=$(vm 'homenode move wide 2' 2>&1); then
		fail "homenode move wide 2: $said"
	fi
	say "$said"
	vm 'virsh -q iothreadadd wide 1 --live && systemctl restart libvirtd && sleep 5 && virsh -q list' >&2
	sleep 5
	wide_on 0 3
}

steady() { assert_eq "$(daemon_writes $((2 * sweep)))" '' 'writes in steady state'; }

undone() {
	guest_destroy wide
	guest_start twin
	vm 'virsh -q iothreadadd twin 1 --live && virsh -q setvcpus twin 2 --live' >&2
	vm 'homenode undo one' >&2
	assert_eq "$(sets_of one)" "$(sets_of twin)" 'what is in force after undo'
	runs one
}

for step in started one_moves refused plugged killed called_off wide_started wide_moves steady undone; do
	part $step
	$step
done
rss=$(vm "awk '/^VmRSS/ { print \$2 }' /proc/\$(pidof homenoded)/status")
say "homenoded: $rss KiB resident"
assert_le "$rss" 20480 'resident memory of homenoded, KiB'
assert_eq "$(vm 'journalctl -q -b -t homenoded -o cat | grep -c "changes failed"' || true)" 0 'failures of the daemon'
assert_eq "$(vm 'systemctl show -P NRestarts homenoded')" 1 'restarts of the daemon'
assert_eq "$(vm 'journalctl -q -b -k | grep -c "apparmor=\"DENIED\""' || true)" 0 'refusals by AppArmor'
