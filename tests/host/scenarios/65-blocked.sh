#!/bin/bash
# Somebody else's hook holds a domain for longer than the daemon's watchdog waits: libvirt answers nobody who asks about that one,
# or about all of them.
# homenoded goes on with the others, is not restarted, and comes to that one too.
# limit: 900
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

daemon_pid() { vm 'systemctl show -p MainPID --value homenoded' | tr -d '\n'; }
# By the process that runs now.
says() { vm "journalctl -q -b -t homenoded -o cat _PID=$(daemon_pid)" | grep -qF -e "$1"; }
has_cells() { [ "$(vm "virsh dumpxml --inactive $1" | grep -c '<cell id=')" -eq 2 ]; }
has_home() { [ -n "$(home_of "$1")" ]; }
on_home() { [ "$(cg "$1" libvirt/vcpu1/cpuset.cpus)" = "$(node_cpus "$2")" ]; }
is_held() { vm 'test -e /run/held'; }
resident_kib() { vm "sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$(daemon_pid)/status" | tr -d '\n'; }

# The hook of homenode has had its turn by then.
hook='#!/bin/sh
case "$1 $2" in "held started" | "again started") ;; *) exit 0 ;; esac
touch /run/held
sleep 150
rm /run/held'

start_held() {
	vm "setsid -f virsh -q start $1 >/run/start 2>&1 </dev/null"
	wait_until 60 is_held
	start=$SECONDS
}

let_go() {
	wait_until 180 vm '! test -e /run/held'
	wait_until 30 says "libvirt answers for $1 again"
	assert_eq "$(vm 'cat /run/start')" '' 'what virsh start says'
}

still_held() { is_held || fail "it was held for $((SECONDS - start)) s only"; }

disturb() { vm "echo 0-7 >'$(guest_scope "$1")/libvirt/vcpu1/cpuset.cpus'"; }
put_right() { [ "$(cg "$1" libvirt/vcpu1/cpuset.cpus)" != 0-7 ]; }

hold() {
	vm 'mkdir -p /etc/libvirt/hooks/qemu.d && cat >/etc/libvirt/hooks/qemu.d/hold && chmod 755 /etc/libvirt/hooks/qemu.d/hold &&
		systemctl reload libvirtd' <<<"$hook"
	guest_define before 2 64
	guest_start before
	guest_define held 4 256
	wait_until 30 has_cells held
	pid=$(daemon_pid)
	start_held held
	# Everything is looked at: libvirt is asked which domains there are, and does not say.
	vm 'systemctl reload homenoded'
}

others() {
	local node
	guest_define other 4 256
	wait_until 30 has_cells other
	part "cells after $((SECONDS - start)) s"
	guest_define later 2 64 vcpu="current='1'"
	guest_start later
	node=$(node_of later)
	vm 'virsh -q setvcpus later 2 --live'
	wait_until 20 on_home later "$node"
	part "a start and a vCPU after $((SECONDS - start)) s"
	disturb before
	wait_until 20 put_right before
	part "put right after $((SECONDS - start)) s"
	wait_until 30 says 'libvirt does not answer for all domains'
	still_held
}

that_one_too() {
	let_go 'all domains'
	wait_until 30 has_home held
	disturb held
	wait_until 30 put_right held
	assert_eq "$(daemon_pid)" "$pid" 'process of homenoded'
	assert_eq "$(vm 'systemctl show -p NRestarts --value homenoded' | tr -d '\n')" 0 'restarts of homenoded'
	assert_le "$(resident_kib)" 20480 'resident memory of homenoded'
}

# Stopping does not wait. Who asks libvirt which domains there are gets no answer before the last one is let go, so a daemon that is
# started now says so, sees to those that it hears of, and puts the others right then.
begun_anew() {
	local begun
	guest_define again 2 64
	start_held again
	vm 'systemctl reload homenoded && sleep 2'
	begun=$SECONDS
	vm 'systemctl stop homenoded'
	assert_le $((SECONDS - begun)) 10 'seconds to stop'
	disturb before
	begun=$SECONDS
	vm 'systemctl start homenoded'
	assert_le $((SECONDS - begun)) 20 'seconds to start'
	guest_define third 4 256
	wait_until 30 has_cells third
	part "cells after $((SECONDS - start)) s"
	wait_until 40 says 'libvirt does not answer for all domains'
	still_held
	let_go 'all domains'
	wait_until 30 put_right before
	wait_until 30 has_home again
}

for step in hold others that_one_too begun_anew; do
	part $step
	$step
done
