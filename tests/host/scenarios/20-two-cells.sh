#!/bin/bash
# A guest wider than a node gets two cells on two adjacent nodes, and libvirt what it is to tell the guest of them.
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

unmeasured

guest_xml wide 4 256 prealloc | vm 'homenode rewrite --definition | virsh -q define /dev/stdin'
before=$(vm 'virsh dumpxml --inactive wide')
guest_start wide
assert_eq "$(vm 'virsh dumpxml --inactive wide')" "$before" 'the definition'

first=$(mem_of_cell wide 0 | awk '{ print $1 }')
second=$(mem_of_cell wide 1 | awk '{ print $1 }')
case "$first $second" in
'0 1' | '2 3') ;;
*) fail "cells are on nodes $first and $second, which are not next to each other" ;;
esac
assert_eq "$(mem_of_cell wide 0)" "$first 131072" 'memory of cell 0'
assert_eq "$(mem_of_cell wide 1)" "$second 131072" 'memory of cell 1'

cpus=$(thread_cpus wide)
for vcpu in 0 1; do
	assert_eq "$(awk -v name="CPU_$vcpu/TCG" '$1 == name { print $2 }' <<<"$cpus")" "$(node_cpus "$first")" "CPUs of vCPU $vcpu"
done
for vcpu in 2 3; do
	assert_eq "$(awk -v name="CPU_$vcpu/TCG" '$1 == name { print $2 }' <<<"$cpus")" "$(node_cpus "$second")" "CPUs of vCPU $vcpu"
done
assert_eq "$(cg wide cpuset.mems)" "$first-$second" 'memory set'

# What the guest is told (that a kernel sees it too is a scenario of its own, which takes long).
told=$(vm 'tr "\0" "\n" <"/proc/$(cat /run/libvirt/qemu/wide.pid)/cmdline"')
grep -Eq '^dist,src=0,dst=1,val=16$' <<<"$told" || fail 'the guest is not told the distance'
grep -Eq '^node,nodeid=1,cpus=2-3,memdev=' <<<"$told" || fail 'the guest is not told of cell 1'
guest_destroy wide

# What was added can be taken out again, from what libvirt made of it.
vm 'homenode undo wide' >&2
vm 'virsh dumpxml --inactive wide' | grep -E 'homenode|<numa|<topology|memnode' && fail 'something of it is left'

# A transient one can't have cells; it has the two nodes for itself all the same.
guest_create flat 4 256 prealloc
assert_eq "$(mem_by_node flat | awk '{ print $1 }' | xargs)" "$(cg flat cpuset.mems.effective | sed 's/[-,]/ /')" 'nodes of flat'
assert_eq "$(cg flat cpuset.mems.effective)" "$first-$second" 'nodes of flat'
