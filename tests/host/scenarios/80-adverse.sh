#!/bin/bash
# Whatever is missing or stuck, a guest starts, and the hook takes at most 2.5 s of that.
# limit: 900
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

# starts NAME: it does, in time.
starts() {
	guest_create "$1" 2 64 prealloc
	assert_le "$(hook_ms "$1")" 2500 "hook's time for $1, ms"
}

confined() { # NAME: the CPUs are those of one node all the same
	local report node
	report=$(guest_report "$1")
	node=$(home_of "$1")
	assert_eq "$(elsewhere "$(node_cpus "$node")" <<<"$report")" '' "threads of $1 off node $node"
}

stopped_lock_holder() {
	starts first
	vm 'flock /run/homenode/lock sleep 1000 >/dev/null 2>&1 & sleep 1; pkill -STOP -f "^flock /run/homenode/lock"'
	starts locked
	hook_says locked | grep -q 'ledger' || fail 'the hook does not say what held it up'
	assert_eq "$(cg locked cpuset.cpus.effective)" 0-7 'CPUs of the scope'
	# One that was placed before is put into force without the lock.
	vm 'pkill -KILL -f "^flock /run/homenode/lock"; pkill -f "^sleep 1000"'
	guest_destroy first
	guest_destroy locked
}

# Not quite: without room for its own pid and status files libvirt itself starts nothing.
full_run() {
	vm 'fallocate -l 10G /run/full 2>/dev/null || dd if=/dev/zero of=/run/full bs=4k 2>/dev/null; truncate -s -64K /run/full; df /run | tail -n 1' >&2
	vm 'rm -f /run/homenode/topology'
	starts full
	vm 'rm /run/full'
	guest_destroy full
}

no_ledger_folder() {
	vm 'mkdir -p /run/homenode && mount -t tmpfs -o ro none /run/homenode'
	starts readonly
	vm 'umount /run/homenode'
	guest_destroy readonly
}

# As on a host without the package: a masked service would keep libvirt itself from starting anything.
no_machined() {
	vm 'systemctl stop systemd-machined.service && rm /usr/share/dbus-1/system-services/org.freedesktop.machine1.service &&
		systemctl reload dbus && systemctl restart libvirtd'
	starts nomachined
	confined nomachined
	guest_destroy nomachined
}

no_dbus() {
	vm 'systemctl stop dbus.socket dbus.service && rm -f /run/homenode/systemd-version && systemctl restart libvirtd'
	starts nodbus
	confined nodbus
	guest_destroy nodbus
}

for name in stopped_lock_holder full_run no_ledger_folder no_machined no_dbus; do
	part $name
	$name
done
