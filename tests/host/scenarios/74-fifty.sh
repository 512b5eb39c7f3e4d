#!/bin/bash
# Fifty small guests, ten of which were there before homenode: all are kept where they belong, two sweeps long nothing is
# written, and the daemon stays small.
# limit: 3600
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

count=50
limit_kib=20480

# created FIRST LAST: in one go, two at once. On a busy computer systemd-machined does not answer libvirt in time: tried once more.
created() {
	guest_xml NAME 1 16 | vm "cat >small.xml; seq -w $1 $2 |
		xargs -P 2 -I @ sh -c 'sed s/NAME/small@/g small.xml >small@.xml
			virsh -q create --paused small@.xml || virsh -q create --paused small@.xml || exit 255'" >&2
}

without_homenode() {
	vm 'systemctl stop homenoded && mv /etc/libvirt/hooks/qemu /root && systemctl restart libvirtd'
	created 01 10
	vm 'mv /root/qemu /etc/libvirt/hooks && systemctl restart libvirtd && systemctl start homenoded'
}

# "NAME CPUS" of every guest: as the ledger has them, and as they are in force.
planned() { vm 'homenode status' | awk '$2 == "placed" { print $1, $4 }' | sort; }
in_force() {
	vm 'for file in /run/libvirt/qemu/small*.pid; do
		scope=$(sed -n "s/^0:://p" /proc/$(cat $file)/cgroup | sed "s,/libvirt/.*,,")
		echo $(basename $file .pid) $(cat /sys/fs/cgroup$scope/libvirt/vcpu0/cpuset.cpus)
	done' | sort
}
all_placed() { [ "$(planned | wc -l)" -eq $count ] && [ "$(planned)" = "$(in_force)" ]; }

cpu_us() { vm 'awk "/^usage_usec/ { print \$2 }" /sys/fs/cgroup/system.slice/homenoded.service/cpu.stat'; }
resident() { vm 'awk "/^VmRSS|^Rss/ { print \$1, \$2 }" /proc/$(pidof homenoded)/status | xargs'; }

part "$((count - 40)) guests without homenode"
without_homenode
part 'forty more'
created 11 $count
wait_until $((4 * sweep)) all_placed
sleep "$sweep"

part 'steady'
before=$(cpu_us)
sleep $((2 * sweep))
say "CPU time of a sweep over $count guests: $((($(cpu_us) - before) / 2000)) ms"
say "KiB: $(resident)"
assert_eq "$(daemon_writes $((2 * sweep)))" '' 'writes in steady state'
all_placed || fail "not as planned: $(diff <(planned) <(in_force))"

part 'a daemon that comes to them'
vm 'systemctl restart homenoded'
wait_until $((4 * sweep)) all_placed
sleep $((2 * sweep))
say "KiB: $(resident)"
assert_le "$(resident | sed 's/.*VmRSS: \([0-9]*\).*/\1/')" $((limit_kib - 1)) 'resident memory of the daemon, KiB'
