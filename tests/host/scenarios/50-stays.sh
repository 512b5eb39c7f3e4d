#!/bin/bash
# Running guests stay as they are: over restarts of libvirtd, with a hook that can't work, over daemon-reload; and virsh
# can still pin.
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

# Without the whole process per node: the kernel drops and reads again pages of QEMU's program file when it likes.
state_of() {
	guest_report "$1" | grep -v '^process ' | sort
	for group in . libvirt libvirt/emulator libvirt/vcpu0 libvirt/vcpu1; do
		cg "$1" $group/cpuset.cpus.effective
		cg "$1" $group/cpuset.mems.effective
	done
}

guest_create one 2 128 prealloc
guest_create two 2 128 prealloc
node=$(node_of one)
before=$(state_of one)

vm 'systemctl daemon-reload'
assert_eq "$(state_of one)" "$before" 'after daemon-reload'

vm 'virsh -q vcpupin one 0 7 && virsh -q vcpupin one 1 0-7'
assert_eq "$(thread_cpus one | awk '$1 == "CPU_0/TCG" { print $2 }')" 7 'a vCPU pinned by virsh'
assert_eq "$(thread_cpus one | awk '$1 == "CPU_1/TCG" { print $2 }')" 0-7 'a vCPU set free by virsh'
vm 'virsh -q emulatorpin one 6'
assert_eq "$(mem_by_node one)" "$node 131072" 'memory after pinning'

pids=$(guest_pid one; guest_pid two)
vm 'systemctl restart libvirtd && virsh list >/dev/null'
assert_eq "$(guest_pid one; guest_pid two)" "$pids" 'guests after a restart of libvirtd'

# A hook installed anew, whose state folder is no folder.
vm 'cp -p /etc/libvirt/hooks/qemu /root/qemu && rm /etc/libvirt/hooks/qemu && cp -p /root/qemu /etc/libvirt/hooks/qemu &&
	rm -rf /run/homenode && echo no folder >/run/homenode && systemctl restart libvirtd && virsh list >/dev/null'
assert_eq "$(guest_pid one; guest_pid two)" "$pids" 'guests after a restart with a hook that can keep nothing'
assert_eq "$(vm 'virsh list --name | sort | xargs')" 'one two' 'guests that libvirt knows'
