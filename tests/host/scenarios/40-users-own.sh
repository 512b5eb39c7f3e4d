#!/bin/bash
# What the user wrote stays; a guest that opted out is as libvirt made it; the rest is placed around it.
# limit: 900
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

cpus_of() { awk -v name="$2" '$1 == name { print $2 }' <<<"$1"; }

opted_out() {
	local before report
	guest_define off 2 128 prealloc metadata="$(wish "placement='off'")"
	before=$(vm 'virsh dumpxml --inactive off')
	guest_start off
	report=$(guest_report off)
	assert_eq "$(awk '$1 == "thread" && $4 != "0-7"' <<<"$report")" '' 'confined threads of off'
	for group in . libvirt libvirt/emulator libvirt/vcpu0 libvirt/vcpu1; do
		assert_eq "$(cg off $group/cpuset.cpus)" '' "CPU set of off, $group"
		assert_eq "$(cg off $group/cpuset.mems)" '' "memory set of off, $group"
	done
	assert_eq "$(drop_ins)" '' 'drop-ins'
	assert_eq "$(vm 'virsh dumpxml --inactive off')" "$before" 'definition of off'
	vm 'virsh dumpxml off' | grep -E 'vcpupin|numatune|applied' && fail 'the running guest has been changed'
	guest_destroy off
}

pinned() {
	local cpus node
	guest_create pinned 2 128 prealloc cputune="<vcpupin vcpu='0' cpuset='5'/><emulatorpin cpuset='4-5'/>"
	cpus=$(thread_cpus pinned)
	assert_eq "$(cpus_of "$cpus" CPU_0/TCG)" 5 'the pinned vCPU'
	assert_eq "$(cpus_of "$cpus" qemu-system-x86 | sort -u)" 4-5 'the pinned emulator'
	node=$(node_of pinned)
	assert_eq "$node" 2 'memory goes to where the pins are'
	assert_eq "$(cpus_of "$cpus" CPU_1/TCG)" 4-5 'the vCPU that was left open'
	guest_destroy pinned

	guest_create cpuset 2 128 prealloc vcpu="cpuset='1,7'"
	assert_eq "$(thread_cpus cpuset | awk '{ print $2 }' | sort -u)" 1,7 'all threads'
	guest_destroy cpuset
}

bound() {
	guest_create strict 2 128 prealloc numatune="<memory mode='strict' nodeset='3'/>"
	assert_eq "$(mem_by_node strict)" '3 131072' 'memory of strict'
	assert_eq "$(cpus_of "$(thread_cpus strict)" CPU_0/TCG)" 6-7 'its vCPUs follow'
	guest_destroy strict

	guest_create interleave 2 128 prealloc numatune="<memory mode='interleave' nodeset='1,3'/>"
	assert_eq "$(mem_by_node interleave)" $'1 65536\n3 65536' 'memory of interleave'
	guest_destroy interleave

	guest_create cells 2 128 prealloc cells=2 numatune="<memnode cellid='0' mode='strict' nodeset='3'/>
		<memnode cellid='1' mode='strict' nodeset='0'/>"
	assert_eq "$(mem_of_cell cells 0)" '3 65536' 'cell 0'
	assert_eq "$(mem_of_cell cells 1)" '0 65536' 'cell 1'
	assert_eq "$(cpus_of "$(thread_cpus cells)" CPU_0/TCG)" 6-7 'vCPU of cell 0'
	assert_eq "$(cpus_of "$(thread_cpus cells)" CPU_1/TCG)" 0-1 'vCPU of cell 1'
	guest_destroy cells
}

opted_out
pinned
bound
