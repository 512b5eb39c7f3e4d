# shellcheck shell=bash
# From an image to a machine that answers, and between the states that are kept of it.

bring_up() {
	build_image "$suite"
	lock "machine-$machine" 900
	# One that was left running may be of another image or layout than wanted now.
	if running && ! disk_fits; then
		stop
	fi
	if ! running; then
		ensure_disk
		trap 'stop' EXIT
		if snapshot_exists up; then
			step "starting Debian $release ($machine) from its snapshot" resume up
		else
			step "booting Debian $release ($machine)" boot
			step "keeping Debian $release ($machine) as booted" snapshot up
		fi
		trap - EXIT
	fi
	unlock "machine-$machine"
}

# Generous limits: it is done once, perhaps on a machine that is busy with other things.
boot() {
	launch
	wait_for 900 ssh_master
	# Degraded is fine: a unit may fail that has no place in an emulated machine.
	wait_for 600 remote 'systemctl is-system-running | grep -Eqx "running|degraded"'
	# libvirt asks QEMU once what it can do, which takes as long as a start.
	remote 'virsh domcapabilities --virttype qemu >/dev/null && machinectl list >/dev/null && sync'
}

resume() {
	launch -loadvm "$1"
	wait_for 60 ssh_master
}

snapshot() {
	# A connection that is open in the snapshot would be answered to by nobody.
	ssh_master_stop
	monitor "savevm $1"
}

restore() {
	if running; then
		ssh_master_stop
		monitor "loadvm $1"
		wait_for 60 ssh_master
	else
		ensure_disk
		snapshot_exists "$1" || die "$machine has no snapshot '$1'"
		resume "$1"
	fi
}

# Where the scenarios' helper program lies in the machine. It is no part of the image, which takes
# minutes to build.
guest_report=/usr/local/lib/homenode-test/guest-report

put() { remote "cat >'$2'" <"$1"; }

# brief_starts: at each start libvirt asks QEMU for every one of some 400 features of the guest's CPU, and at its own start for each
# guest: two thirds of what these take here. Where it does not know that QEMU can tell, it asks twice. What it noted before
# there was /dev/kvm, which comes late, it takes for outdated.
brief_starts() {
	remote '
		set -e
		udevadm settle --timeout=120
		systemctl restart libvirtd
		virsh domcapabilities --virttype qemu >/dev/null
		sed -i /cpu-unavailable-features/d /var/cache/libvirt/qemu/capabilities/*.xml
		systemctl restart libvirtd
		virsh domcapabilities --virttype qemu >/dev/null
		! grep -q cpu-unavailable-features /var/cache/libvirt/qemu/capabilities/*.xml
	'
}

# install_archive FILE: what an administrator does after unpacking. libvirtd ends by itself when
# it has been idle for two minutes; one that starts anew sees the hook without being told.
install_archive() {
	remote '
		set -e
		tar -x --touch --no-overwrite-dir --keep-directory-symlink -C / -f -
		ldconfig
		systemctl daemon-reload
		systemctl try-reload-or-restart libvirtd
		if systemctl cat homenoded.service >/dev/null 2>&1; then
			systemctl enable --now homenoded
		fi
		virsh domcapabilities --virttype qemu >/dev/null
		# As README says: the first look at the topology is not left to the first start.
		echo "<domain type=\"qemu\"><name>none</name><memory>1024</memory><vcpu>1</vcpu><os><type>hvm</type></os></domain>" |
			homenode plan - >/dev/null
	' <"$1"
}
