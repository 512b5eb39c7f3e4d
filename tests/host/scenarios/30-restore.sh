#!/bin/bash
# A saved guest comes back on the nodes that are free now; one with cells has its memnode rewritten.
# limit: 900
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

guest_define small 2 128 prealloc
guest_xml wide 4 256 prealloc | vm 'homenode rewrite --definition | virsh -q define /dev/stdin'
guest_start wide
guest_start small
wide=$(cg wide cpuset.mems)
small=$(node_of small)
vm 'virsh -q managedsave wide && virsh -q managedsave small'
assert_eq "$(vm 'ls /run/homenode/ledger')" '' 'entries of guests that were saved'

# Somebody takes room on one of its two nodes, while the other pair is empty.
guest_create taker 2 900 metadata="$(wish "nodes='${wide%-*}'")"
guest_start wide
now=$(cg wide cpuset.mems)
case "$wide $now" in
'0-1 2-3' | '2-3 0-1') ;;
*) fail "the wide guest was on $wide and came back on $now" ;;
esac
assert_eq "$(mem_of_cell wide 0 | awk '{ print $1 }' | xargs)" "${now%-*}" 'node of cell 0'
assert_eq "$(mem_of_cell wide 1 | awk '{ print $1 }' | xargs)" "${now#*-}" 'node of cell 1'
vm 'virsh dumpxml wide' | grep -q "<memnode cellid='1' mode='strict' nodeset='${now#*-}'/>" || fail 'memnode of the running guest'
vm 'virsh dumpxml --inactive wide' | grep -q "<memnode cellid='1' mode='strict' nodeset='${wide#*-}'/>" ||
	fail 'the definition is not what it was'

guest_create other 2 900 metadata="$(wish "nodes='$small'")"
guest_start small
[ "$(node_of small)" != "$small" ] || fail "the small guest came back to node $small, which is taken"
assert_whole_on small "$(node_of small)"
for name in wide small; do
	# Two starts each, the second with one call more.
	assert_le "$(hook_ms $name)" 5000 "hook's time for $name, ms"
done
