#!/bin/bash
# A guest that asks for numad's advice is numad's: it starts as before, without a drop-in.
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

guest_create numad 2 128 prealloc vcpu="placement='auto'" numatune="<memory mode='strict' placement='auto'/>"
assert_eq "$(drop_ins)" '' 'drop-ins'
hook_says numad | grep -q 'left to libvirt' || fail 'the hook does not leave it'
guest_destroy numad
