#!/bin/bash
# A host that loses CPUs, gets them back, or leaves guests fewer of them: guests whose home is gone get another one, CPUs
# first, and stay there. Without balancing, which would bring their memory after them.
# limit: 900
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

sweep=60 # a sweep, and what it takes under emulation

online() { # 0|1 NODE
	vm "for cpu in $((2 * $2)) $((2 * $2 + 1)); do echo $1 >/sys/devices/system/cpu/cpu\$cpu/online; done"
}

runs_on() { [ -z "$(guest_report "$1" | elsewhere "$(node_cpus "$2")")" ]; } # NAME NODE

has_left() { # NAME NODE: by the ledger, and its threads with it
	local home
	home=$(home_of "$1")
	[ -n "$home" ] && [ "$home" != "$2" ] && runs_on "$1" "$home"
}

says() { vm 'journalctl -q -b -t homenoded -o cat' | grep -c "$1" || true; }
changes() { says 'the host has changed'; }
changed_since() { [ "$(changes)" -gt "$1" ]; } # TIMES

# QEMU answers, the guest can be stopped and goes on, and others start.
nothing_stalls() {
	vm "timeout 60 virsh -q suspend $1 && timeout 60 virsh -q resume $1" >&2
	guest_create "beside-$2" 1 64 prealloc
	assert_le "$(hook_ms "beside-$2")" 2500 'hook, ms'
}

vm 'echo "balance=off" >/etc/homenode/homenode.conf.d/50-test.conf && systemctl reload homenoded && systemctl is-active homenoded' >&2
guest_create one 2 128 prealloc
guest_create two 2 128 prealloc
name=one
[ "$(home_of one)" != 0 ] || name=two
node=$(home_of "$name")
[ "$node" != 0 ] || fail 'both guests are on node 0, whose first CPU cannot go'
wait_until $sweep runs_on "$name" "$node"
pid=$(guest_pid "$name")
memory=$(kib_on "$name" "$node")

part "the CPUs of node $node go, with $name on it"
online 0 "$node"
wait_until $sweep has_left "$name" "$node"
new=$(home_of "$name")
assert_eq "$(says "$name: given another home")" 1 'how often it was given one'
assert_eq "$(guest_pid "$name")" "$pid" 'its process'
# What lay on the old node is left to lie there, and may. The kernel may take a huge page of it along with the CPUs.
assert_le "$(kib_on "$name" "$node")" "$memory" 'memory on the old home'
assert_le $((memory - memory / 16)) "$(kib_on "$name" "$node")" 'memory that stays there'
assert_eq $(($(kib_on "$name" "$node") + $(kib_on "$name" "$new"))) "$memory" 'memory on both homes'
assert_eq "$(cg "$name" cpuset.mems)" "$(printf '%s\n' "$node" "$new" | sort -n | paste -sd, | sed 's/0,1$/0-1/; s/1,2$/1-2/; s/2,3$/2-3/')" 'its memory set'
nothing_stalls "$name" first
[ "$(home_of beside-first)" != "$node" ] || fail 'a guest was started on a node without CPUs'

part 'they come back'
before=$(changes)
online 1 "$node"
wait_until $sweep changed_since "$before"
sleep 5
assert_eq "$(home_of "$name")" "$new" 'home once the CPUs are back'
runs_on "$name" "$new" || fail "$name does not run on its home"
assert_eq "$(says "$name: given another home")" 1 'how often it was given one'

part 'machine.slice leaves the CPUs of nodes 0 and 1'
vm 'systemctl set-property --runtime machine.slice AllowedCPUs=0-3'
for guest in one two beside-first; do
	wait_until $sweep has_left "$guest" 2
	wait_until $sweep has_left "$guest" 3
done
nothing_stalls "$name" second
homes=$(home_of one; home_of two; home_of beside-first)
before=$(changes)
vm 'systemctl set-property --runtime machine.slice AllowedCPUs=0-7'
wait_until $sweep changed_since "$before"
sleep 5
assert_eq "$(home_of one; home_of two; home_of beside-first)" "$homes" 'homes once all CPUs may be used'
assert_eq "$(cg one cpuset.cpus.effective)" 0-7 'CPUs of the scope'

part 'huge pages come'
before=$(changes)
vm 'echo 16 >/sys/devices/system/node/node3/hugepages/hugepages-2048kB/nr_hugepages'
wait_until $sweep changed_since "$before"
vm 'echo "balance=off" >/etc/homenode/homenode.conf.d/50-test.conf && systemctl reload homenoded && systemctl is-active homenoded' >&2
assert_eq "$(says 'Main process exited')" 0 'crashes'
