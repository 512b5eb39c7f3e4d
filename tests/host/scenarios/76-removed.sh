#!/bin/bash
# homenode comes, places, and is removed as README says: files, definitions and running guests are then as on a host that
# never had it, by comparison with what was there before and with guests that it never touched.
# from: up
# limit: 1800
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"
. "$host_dir/lib/programs.sh"

files() { vm 'find /etc /usr /var/lib/homenode /run/homenode /run/systemd/system /run/systemd/transient 2>/dev/null |
	grep -vE "^/etc/libvirt/qemu/|^/run/systemd/transient/machine-|^/etc/ld.so.cache"' | sort; }
inactive() { vm "virsh dumpxml --inactive --security-info $1"; }
# What is in force, by the kernel and by systemd.
force_of() {
	sets_of "$1"
	vm "systemctl show -p EffectiveCPUs -p EffectiveMemoryNodes -- \"\$(basename \"\$($guest_report $1 scope)\")\""
}
same_as_twins() { # WHEN
	assert_eq "$(force_of narrow)" "$(force_of narrow-twin)" "what is in force for narrow, $1"
	assert_eq "$(force_of wide)" "$(force_of wide-twin)" "what is in force for wide, $1"
}
has_cells() { inactive wide | grep -q '<cell id=.1.'; }
# Where it is balanced all the same, its memory comes after it.
whole() {
	local home
	home=$(home_of narrow)
	[ "$(mem_by_node narrow)" = "$home 131072" ] && [ "$(cg narrow cpuset.mems)" = "$home" ]
}
in_force() { [ "$(cg narrow libvirt/vcpu1/cpuset.cpus)" = "$(node_cpus "$(home_of narrow)")" ] && [ -z "$(drop_ins)" ]; }

# Twins run before it comes, and say that it is to leave them.
before() {
	local secret="<graphics type='vnc' autoport='yes' passwd='s3cret'/>" name
	for name in narrow narrow-twin; do
		guest_define $name 2 128 prealloc devices="$secret" metadata="$(wish "placement='$([ $name = narrow ] && echo auto || echo off)'")"
	done
	guest_define wide 4 256 prealloc devices="$secret" metadata="$(wish "nodes='0-1'")"
	guest_define wide-twin 4 256 prealloc devices="$secret" metadata="$(wish "placement='off'")"
	guest_define other 2 64 prealloc
	guest_start narrow-twin
	guest_start wide-twin
	files=$(files)
	definitions=$(inactive narrow; inactive wide; inactive narrow-twin; inactive wide-twin; inactive other)
	twins=$(force_of narrow-twin; force_of wide-twin)
}

comes() {
	install_archive "$(programs "$suite" "$(cd "$host_dir/../.." && pwd)")"
	[ "$(files)" != "$files" ] || fail 'nothing was installed'
	wait_until 60 has_cells
	# The one that may go anywhere last: it keeps away from the other, and need not be balanced.
	guest_start wide
	guest_start narrow
	wait_until 60 in_force
	wait_until 120 whole
	assert_whole_on narrow "$(home_of narrow)" 131072
	assert_eq "$(mem_of_cell wide 0) $(mem_of_cell wide 1)" '0 131072 1 131072' 'memory of the cells of wide'
	assert_eq "$(force_of narrow-twin; force_of wide-twin)" "$twins" 'what is in force for the twins'
}

# As README says.
goes() {
	local archive=$cache/programs/$suite/homenode.tar
	vm 'systemctl disable --now homenoded && homenode undo --all' >&2
	tar -tf "$archive" | sed 's,^\./,/,; /^$/d' |
		vm 'grep -v "/$" | xargs rm && systemctl daemon-reload && systemctl reload libvirtd && rm -rf /run/homenode /var/lib/homenode /etc/homenode'
}

gone() {
	assert_eq "$(diff <(echo "$files") <(files) || true)" '' 'files'
	assert_eq "$(inactive narrow; inactive wide; inactive narrow-twin; inactive wide-twin; inactive other)" "$definitions" 'definitions'
	same_as_twins 'after the removal'
	assert_eq "$(force_of narrow-twin; force_of wide-twin)" "$twins" 'what is in force for the twins'
	assert_eq "$(drop_ins)" '' 'drop-ins'
}

# On libvirt's own from then on.
later() {
	local pids
	pids=$(guest_pid narrow; guest_pid wide)
	vm 'systemctl daemon-reload && systemctl restart libvirtd && virsh list' >&2
	assert_eq "$(guest_pid narrow; guest_pid wide)" "$pids" 'guests after a restart of libvirtd'
	same_as_twins 'after a restart of libvirtd'
	for name in narrow narrow-twin wide wide-twin; do
		vm "virsh -q iothreadadd $name 1 --live"
	done
	same_as_twins 'after an iothread was added'
	guest_start other
	assert_eq "$(cg other libvirt/vcpu0/cpuset.cpus.effective) $(cg other cpuset.mems.effective)" '0-7 0-3' 'a guest started afterwards'
	guest_destroy wide
	guest_start wide
	assert_eq "$(cg wide libvirt/vcpu0/cpuset.cpus.effective) $(cg wide cpuset.mems.effective)" '0-7 0-3' 'a guest started again'
}

for step in before comes goes gone later; do
	part $step
	$step
done
