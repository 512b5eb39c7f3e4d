#!/bin/bash
# The machine itself: what every other scenario takes for granted, without homenode.
# from: up
. "$(dirname "$0")/../lib.sh"

topology() {
	assert_eq "$(vm 'cat /sys/devices/system/node/online')" 0-3 'nodes'
	assert_eq "$(vm 'cat /sys/devices/system/node/node*/distance')" \
		$'10 16 22 32\n16 10 32 22\n22 32 10 16\n32 22 16 10' 'distances'
	assert_eq "$(vm 'cat /sys/devices/system/node/node*/cpulist | xargs')" '0-1 2-3 4-5 6-7' 'CPUs'
}

platform() {
	vm 'machinectl list >/dev/null'
	assert_eq "$(vm 'cat /proc/$(pidof libvirtd)/attr/current')" 'libvirtd (enforce)' 'AppArmor'
	vm 'test -d /var/log/journal && journalctl -q -b -n 1 >/dev/null'
}

stock_guest() {
	local report
	guest_define stock 2 256 prealloc
	guest_start stock
	report=$(guest_report stock)
	assert_eq "$(awk '$1 == "cell" { sum += $4 } END { print sum }' <<<"$report")" 262144 \
		'RAM of a preallocated guest'
	assert_eq "$(awk '$1 == "thread" && $4 != "0-7"' <<<"$report")" '' 'threads confined by nobody'
	assert_eq "$(cg stock cpuset.mems)" '' 'memory set of an untouched guest'
	guest_destroy stock
}

# Not preallocated: with host nodes and preallocation, QEMU 7.2 asks libnuma for the nodes' CPUs,
# which Debian 12's AppArmor profile for guests forbids, and does not start.
guest_with_cells() {
	guest_create cells 4 256 cells=2 numatune="<memnode cellid='0' mode='strict' nodeset='3'/>
		<memnode cellid='1' mode='strict' nodeset='1'/>"
	# The firmware touches low memory, all of it in cell 0.
	assert_eq "$(mem_of_cell cells 0 | cut -d ' ' -f 1)" 3 'node of cell 0'
	guest_destroy cells
}

# What the project stands on: a drop-in that a hook writes at "prepare" confines the scope that
# systemd makes for the guest a moment later.
drop_in_at_prepare() {
	vm 'mkdir -p /etc/libvirt/hooks && cat >/etc/libvirt/hooks/qemu &&
		chmod 755 /etc/libvirt/hooks/qemu && systemctl reload-or-restart libvirtd' <<-'END'
	#!/bin/bash
	id=$(sed -n "s/.*<domain [^>]*id='\([0-9]*\)'.*/\1/p" | head -n 1)
	[ "$2" = prepare ] || exit 0
	unit="/run/systemd/system/machine-qemu\\x2d$id\\x2d$1.scope.d"
	mkdir -p "$unit"
	printf '[Scope]\nAllowedCPUs=4-5\nAllowedMemoryNodes=2\n' >"$unit/50-test.conf"
	END
	guest_create dropin 2 256 prealloc
	assert_eq "$(mem_by_node dropin)" '2 262144' 'memory of a guest with a drop-in'
	assert_eq "$(thread_cpus dropin | awk '{ print $2 }' | sort -u)" 4-5 'its threads'
	assert_eq "$(cg dropin cpuset.mems)" 2 'its memory set'
	guest_destroy dropin
}

for step in topology platform stock_guest guest_with_cells drop_in_at_prepare; do
	part "$step"
	"$step"
done
