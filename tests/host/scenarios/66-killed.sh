#!/bin/bash
# Guests that were there before homenode are placed when it comes; and its daemon may be killed at any moment, and libvirtd
# restarted.
# limit: 900
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"
. "$host_dir/lib/storm.sh"

# in_force NAME: every vCPU's group has CPUs of its home.
in_force() {
	local home cpus
	home=$(home_of "$1")
	[ -n "$home" ] || return 1
	for cpus in $(vm "cat \"\$($guest_report $1 scope)\"/libvirt/vcpu*/cpuset.cpus"); do
		[ $((${cpus%-*} / 2)) -ge "${home%-*}" ] && [ $((${cpus#*-} / 2)) -le "${home#*-}" ] || return 1
	done
}

adopted() {
	local node
	vm 'systemctl stop homenoded && mv /etc/libvirt/hooks/qemu /root'
	guest_create before 2 128 prealloc
	guest_create pinned 2 64 cputune="<vcpupin vcpu='1' cpuset='0'/>"
	assert_eq "$(cg before libvirt/vcpu0/cpuset.cpus)" '' 'CPU set without homenode'
	vm 'mv /root/qemu /etc/libvirt/hooks && systemctl restart libvirtd && systemctl start homenoded'
	wait_until 20 in_force before
	node=$(home_of before)
	assert_eq "$(elsewhere "$(node_cpus "$node")" <<<"$(guest_report before)")" '' "threads of before off node $node"
	wait_until 20 in_force pinned
	assert_eq "$(cg pinned libvirt/vcpu1/cpuset.cpus)" 0 "the user's pin"
	guest_destroy before
	guest_destroy pinned
}

killed() {
	storm_begin
	storm 40 5
	storm_check
}

for step in adopted killed; do
	part $step
	$step
done
