#!/bin/bash
# The scope of a guest is foreseen whatever the guest is called.
# limit: 900
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

names=(a.b-c_d --x..y 'guest with space' 'gäst-ü' "$(printf 'n%.0s' {1..247})" .hidden UPPER_case-1.2 "it's+\$(name)" '<a> & "b"')
# libvirt itself starts none of more than 247 bytes: it can't make the files that it names after the guest.
for name in "${names[@]}"; do
	# libvirt wants a file name of at most 255 bytes for the serial log.
	guest_xml "$name" 1 64 prealloc | sed '/<serial /d' | vm 'virsh -q create /dev/stdin'
	assert_whole_on "$name" "$(node_of "$name")" 65536
	guest_destroy "$name"
	assert_eq "$(drop_ins)" '' "drop-ins after $name"
done
