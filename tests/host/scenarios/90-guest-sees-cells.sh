#!/bin/bash
# A guest's kernel finds the cells that homenode gave it, with the host's distances. Apart from the rest, for it takes many
# minutes to boot Linux under emulation within emulation.
# limit: 1500
# soak: yes
. "$(dirname "$0")/../lib.sh"

guest_xml wide 4 256 boot | vm 'homenode rewrite --definition | virsh -q define /dev/stdin'
guest_start wide
HOMENODE_PATIENCE=10 wait_guest_booted wide
report=$(serial_log wide)
say "$report"
grep -Eq '^GUEST-NODE 0 distance=10,16 cpus=0-1 kib=[0-9]+$' <<<"$report"
grep -Eq '^GUEST-NODE 1 distance=16,10 cpus=2-3 kib=[0-9]+$' <<<"$report"
