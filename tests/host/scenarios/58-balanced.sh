#!/bin/bash
# Two busy guests that were put on one node are separated, memory follows, and then they are left in peace; a node that runs short of
# memory has its guest take from others, which comes home again.
# limit: 1500
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"
. "$host_dir/lib/busy.sh"

period=10
mib=256
touched=224

is_busy() { [ "$(busy_cpus "$1")" -ge 150 ]; }
# local_on NAME NODE: thousandths of all its RAM.
local_on() {
	mem_by_node "$1" | awk -v node="$2" '{ sum += $2 } $1 == node { there = $2 } END { print sum ? int(there * 1000 / sum) : 0 }'
}
moves_begun() { vm 'journalctl -q -b -t homenoded -o cat' | grep -c ': moves: ' || true; }
moving() { vm 'homenode status --json' | grep -q '"moving"'; }
separated() { [ "$(moves_begun)" -gt 0 ]; }

together() {
	local name
	busy_disk /var/lib/libvirt/images/busy.img $touched
	for name in one two; do
		guest_define $name 2 $mib devices="$(busy_device /var/lib/libvirt/images/busy.img)" metadata="$(wish "nodes='0'")"
		guest_start $name
	done
	for name in one two; do
		assert_eq "$(home_of $name)" 0 "home of $name"
		wait_until 120 is_busy $name
		say "$name: $(busy_cpus $name) hundredths of a CPU, memory on $(mem_by_node $name | xargs)"
	done
	assert_eq "$(moves_begun)" 0 'moves of guests that may not be elsewhere'
}

apart() {
	local name began ends
	for name in one two; do metadata_set $name "placement='auto'" --live; done
	began=$SECONDS
	wait_until $((3 * period + 5)) separated
	say "a move was begun after $((SECONDS - began)) s"
	wait_until 120 eval '! moving'
	say "and had ended after $((SECONDS - began)) s"
	vm 'journalctl -q -b -t homenoded -o cat | grep -E "^(one|two): "' >&2
	ends=$(home_of one)$(home_of two)
	[ "$(home_of one)" != "$(home_of two)" ] || fail "both are on node $(home_of one)"
	[[ $ends == *0* ]] || fail "both have left: $ends"
	for name in one two; do
		assert_ge "$(local_on $name "$(home_of $name)")" 990 "locality of $name, thousandths"
		assert_eq "$(cg $name cpuset.mems)" "$(home_of $name)" "memory set of $name"
		assert_eq "$(guest_report $name | elsewhere "$(node_cpus "$(home_of $name)")")" '' "threads of $name off its home"
	done
}

quiet() {
	local before
	vm 'mkdir -p /etc/homenode/homenode.conf.d && printf "[balance]\nperiod_seconds=2\n" >/etc/homenode/homenode.conf.d/50-test.conf &&
		systemctl reload homenoded'
	before=$(moves_begun)
	sleep 105
	assert_eq "$(moves_begun)" "$before" 'moves begun in 50 periods'
	vm 'rm /etc/homenode/homenode.conf.d/50-test.conf && systemctl reload homenoded'
}

# node_free_mib NODE: as homenode counts it.
node_free_mib() {
	vm "awk '/MemFree|Inactive.file|SReclaimable/ { kib += \$4 } END { print int(kib / 1024) }' /sys/devices/system/node/node$1/meminfo"
}
oom_kills() { vm 'journalctl -q -b -k -o cat | grep -ciE "out of memory|oom-kill|invoked oom"' || true; }
has_spilled() { vm 'journalctl -q -b -t homenoded -o cat' | grep -q '^calm: memory from '; }
has_touched() { [ "$(mem_by_node calm | awk '{ kib += $2 } END { print int(kib / 1024) }')" -ge 384 ]; }
is_home() { [ "$(cg calm cpuset.mems)" = "$node" ] && [ "$(local_on calm "$node")" -ge 990 ]; }

# The last 150 MiB of the node are the guest's to take, which wants 400 MiB.
driven() {
	local before left
	for name in one two; do guest_destroy $name; done
	busy_disk /var/lib/libvirt/images/calm.img 400
	node=3
	guest_define calm 2 512 devices="$(busy_device /var/lib/libvirt/images/calm.img)" metadata="$(wish "nodes='$node'")"
	vm 'virsh -q start --paused calm' >&2
	assert_eq "$(home_of calm)" $node 'home of calm'
	metadata_set calm "placement='auto'" --live
	wait_until 30 no_drop_ins
	before=$(oom_kills)
	left=$(node_free_mib $node)
	vm "mkdir -p /root/fill && mount -t tmpfs -o mpol=bind:$node,size=2g none /root/fill &&
		dd if=/dev/zero of=/root/fill/all bs=1M count=$((left - 150)) status=none"
	say "node $node had $left MiB left, now $(node_free_mib $node)"
	vm 'virsh -q resume calm' >&2
	wait_until 60 has_spilled
	wait_until 120 has_touched
	say "calm: memory on $(mem_by_node calm | xargs), memory set $(cg calm cpuset.mems); node $node has $(node_free_mib $node) MiB left"
	vm 'journalctl -q -b -t homenoded -o cat | grep "^calm: "' >&2
	assert_eq "$(oom_kills)" "$before" 'kills for want of memory'
	assert_eq "$(vm 'virsh domstate calm')" running 'state of calm'
}

comes_home() {
	vm 'umount /root/fill'
	wait_until 240 is_home
	say "calm: memory on $(mem_by_node calm | xargs), memory set $(cg calm cpuset.mems)"
}

for step in together apart quiet driven comes_home; do
	part $step
	$step
done
assert_eq "$(vm 'systemctl show -P NRestarts homenoded')" 0 'restarts of the daemon'
