#!/bin/bash
# A guest that fits one node has it all there when the start returns; three in a row take three nodes.
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

unmeasured

guest_define persistent 2 256 prealloc confined
before=$(vm 'virsh dumpxml --inactive persistent')
guest_start persistent
first=$(node_of persistent)
assert_whole_on persistent "$first" 262144
assert_eq "$(vm 'virsh dumpxml --inactive persistent')" "$before" 'the definition'

guest_create transient 2 256 prealloc
second=$(node_of transient)
assert_whole_on transient "$second" 262144

# Without preallocation memory comes as the firmware touches it.
guest_create touching 2 256
third=$(node_of touching)
assert_whole_on touching "$third"

assert_eq "$(printf '%s\n' "$first" "$second" "$third" | sort -u | wc -l)" 3 'different nodes'

# The priority guest is not put where another runs, nor another to it, while a node is empty.
guest_create high 2 128 metadata="$(wish "priority='high'")"
fourth=$(node_of high)
assert_eq "$(printf '%s\n' "$first" "$second" "$third" "$fourth" | sort -u | wc -l)" 4 'different nodes'

for name in persistent transient touching high; do
	assert_le "$(hook_ms $name)" 2500 "hook's time for $name, ms"
	guest_destroy $name
done
assert_eq "$(drop_ins)" '' 'drop-ins left behind'
assert_eq "$(vm 'ls /run/homenode/ledger')" '' 'entries left behind'
