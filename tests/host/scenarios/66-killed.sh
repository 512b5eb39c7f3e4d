#!/bin/bash
# Guests that were there before homenode are placed when it comes; and its daemon may be killed at any moment.
# limit: 900
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"
. "$host_dir/lib/storm.sh"

adopted() {
	local node
	vm 'systemctl stop homenoded && mv /etc/libvirt/hooks/qemu /root && systemctl restart libvirtd'
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
	local running
	storm_begin
	running=$(storm 8 1)
	storm_check "$running"
}

for step in adopted killed; do
	part $step
	$step
done
