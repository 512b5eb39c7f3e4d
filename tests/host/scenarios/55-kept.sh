#!/bin/bash
# homenoded keeps a running guest placed: takes over from the hook, follows what is plugged in, respects the user's pins,
# writes nothing when all is right, does not fight, and gives back what it is told to.
# limit: 1500
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

# One vCPU more can be plugged in.
for name in one twin; do
	wish=auto
	[ $name = one ] || wish=off
	guest_define $name 2 128 prealloc vcpu="current='1'" metadata="$(wish "placement='$wish'")"
	guest_start $name
done
node=$(node_of one)
home=$(node_cpus "$node")

hand_over() {
	local hold sets
	wait_until 20 no_drop_ins
	assert_whole_on one "$node" 131072
	# systemd writes CPUs and nodes at a change of one: the CPUs are not to confine.
	hold="AllowedCPUs=0-7
AllowedMemoryNodes=$node
cpuset.cpus:0-7
cpuset.mems:$node"
	assert_eq "$(hold_of one)" "$hold" 'what holds the guest'
	sets=$(sets_of one)
	vm 'systemctl daemon-reload'
	assert_eq "$(hold_of one)" "$hold" 'what holds the guest after daemon-reload'
	vm 'systemctl stop homenoded && systemctl daemon-reload'
	assert_eq "$(hold_of one)" "$hold" 'what holds the guest without the daemon'
	vm 'systemctl start homenoded && sleep 5'
	assert_eq "$(hold_of one)" "$hold" 'what holds the guest with the daemon again'
	assert_eq "$(sets_of one)" "$sets" 'what is in force'
}

on_home() { [ "$(cg one "libvirt/$1/cpuset.cpus")" = "$home" ]; }

follow() {
	for name in one twin; do
		vm "virsh -q setvcpus $name 2 --live && virsh -q iothreadadd $name 1 --live"
	done
	wait_until 10 on_home vcpu1
	wait_until 10 on_home iothread1
	assert_whole_on one "$node" 131072
}

# The unit as it runs is open to no more than it needs. In tenths.
closed() {
	local exposure
	exposure=$(vm 'systemd-analyze security --no-pager homenoded' | sed -n 's/.*Overall exposure level for homenoded[^:]*: \([0-9]*\)\.\([0-9]\).*/\1\2/p')
	[ -n "$exposure" ] || fail 'systemd-analyze tells no exposure'
	assert_le "$exposure" 30 'exposure, tenths'
}

# What the user pins at run time, inside the home and outside.
pin() {
	for name in one twin; do
		vm "virsh -q vcpupin $name 0 ${home#*-} && virsh -q emulatorpin $name 0-7"
	done
}

still_pinned() {
	assert_eq "$(cg one libvirt/vcpu0/cpuset.cpus)" "${home#*-}" 'the vCPU pinned by virsh'
	assert_eq "$(cg one libvirt/emulator/cpuset.cpus)" 0-7 'the emulator pinned by virsh'
	assert_eq "$(thread_cpus one | awk '$1 == "CPU_0/TCG" { print $2 }')" "${home#*-}" 'the thread of the vCPU pinned by virsh'
}

steady() { assert_eq "$(daemon_writes $((2 * sweep)))" '' 'writes in steady state'; }

begun() { daemon_says one | grep -q 'somebody else keeps changing'; }
settled() { daemon_says one | grep -q 'have settled'; }

second_writer() {
	local before
	before=$(daemon_says one | wc -l)
	# shellcheck disable=SC2016
	assert_le "$(vm 'cd '"\$($guest_report one scope)"'/libvirt/vcpu1 && n=0 && end=$(($(date +%s) + 15)) && while [ $(date +%s) -lt $end ]; do
		[ "$(cat cpuset.cpus)" = 0-7 ] || n=$((n + 1)); echo 0-7 >cpuset.cpus; sleep 0.1; done && echo $n')" 7 'repairs in 15 s'
	begun || fail 'the daemon does not say that somebody else keeps writing'
	wait_until 20 on_home vcpu1
	wait_until 90 settled
	assert_eq "$(daemon_says one | wc -l)" $((before + 2)) 'lines about it'
}

given_back() { daemon_says one | grep -q 'given back to libvirt'; }

opt_out() {
	metadata_set one "placement='off'" --live
	wait_until 20 given_back
	assert_eq "$(sets_of one)" "$(sets_of twin)" 'what is in force for a guest given back and for one never touched'
}

opt_in() {
	metadata_set one "placement='auto'" --live
	wait_until 20 on_home vcpu1
	wait_until 20 on_home iothread1
	still_pinned
}

undo() {
	vm 'homenode undo one' >&2
	assert_eq "$(sets_of one)" "$(sets_of twin)" 'what is in force after undo'
	vm 'systemctl restart homenoded && sleep 5'
	assert_eq "$(sets_of one)" "$(sets_of twin)" 'what is in force after undo, and a restart of the daemon'
}

# The daemon has libcgroup, and no reason to do without.
by_libcgroup() {
	# shellcheck disable=SC2016
	vm 'grep -q /libcgroup "/proc/$(pidof homenoded)/maps"' || fail 'homenoded has not loaded libcgroup'
	assert_eq "$(vm 'journalctl -q -b -t homenoded | grep -c "libcgroup can"' || true)" 0 'lines about doing without libcgroup'
}

for step in by_libcgroup closed hand_over follow pin steady still_pinned second_writer opt_out opt_in undo; do
	part $step
	$step
done
assert_eq "$(vm 'journalctl -q -b -k | grep -c "apparmor=\"DENIED\""' || true)" 0 'refusals by AppArmor'
