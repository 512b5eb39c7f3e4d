#!/bin/bash
# Eight guests started at the same moment, of which two fit a node: never three on one.
# limit: 900
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

# A third one on a node would want 1,446 of its 1,536 MiB (450 and 32 for QEMU each), of which 5 % are never promised.
for i in 1 2 3 4 5 6 7 8; do
	guest_xml "burst$i" 1 450
done | vm 'cat >all.xml && csplit -q -z -f burst all.xml "/^<domain/" "{*}" && for f in burst0*; do virsh -q define $f; done'
vm 'for i in 1 2 3 4 5 6 7 8; do virsh -q start burst$i & done; wait'
assert_eq "$(vm 'virsh list --name' | grep -c burst)" 8 'guests that run'
homes=$(for i in 1 2 3 4 5 6 7 8; do home_of "burst$i"; done | sort | uniq -c | awk '{ print $2 ":" $1 }' | xargs)
assert_eq "$homes" '0:2 1:2 2:2 3:2' 'guests by node'
for i in 1 2 3 4 5 6 7 8; do
	assert_le "$(hook_ms "burst$i")" 2500 "hook's time for burst$i, ms"
	assert_eq "$(cg "burst$i" cpuset.mems)" "$(home_of "burst$i")" "memory set of burst$i"
done
