#!/bin/bash
# A guest's kernel finds the cells it was given. Apart from the rest, for it takes many minutes to
# boot Linux under emulation within emulation.
# from: up
# limit: 1500
# soak: yes
. "$(dirname "$0")/../lib.sh"

guest_create cells 4 256 boot cells=2
HOMENODE_PATIENCE=10 wait_guest_booted cells
report=$(serial_log cells)
say "$report"
grep -Eq '^GUEST-NODE node0 distance=10,20 cpus=0-1 kib=[0-9]+$' <<<"$report"
grep -Eq '^GUEST-NODE node1 distance=20,10 cpus=2-3 kib=[0-9]+$' <<<"$report"
