#!/bin/bash
# The daemon killed at random moments of 200 starts, stops, edits and hotplugs, and libvirtd restarted among them.
# limit: 3600
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"
. "$host_dir/lib/storm.sh"

storm_begin
storm 200 20
storm_check
