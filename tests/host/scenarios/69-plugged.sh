#!/bin/bash
# What is plugged into guests that were given another home sits there: nothing goes back to where they were, and libvirt
# accepts all that it accepts for guests that homenode never touched.
# limit: 1200
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

settled=90 # a sweep, and what it takes under emulation

dimm() { # MIB CELL
	echo "<memory model='dimm'><target><size unit='MiB'>$1</size><node>$2</node></target></memory>"
}
slots="<maxMemory slots='8' unit='MiB'>768</maxMemory>"
one_cell='<numa><cell id="0" cpus="0-1" memory="128" unit="MiB"/></numa>'

plug() { dimm "$2" "$3" | vm "cat >dimm.xml && virsh -q attach-device $1 dimm.xml --live" >&2; } # NAME MIB CELL

# blocks NAME MIB: "NODE KIB" of the guest's memory blocks of that size.
blocks() {
	vm "pid=$(guest_pid "$1") size=$(($2 * 1048576)) bash -s" <<-'END' | sort -n
	while read -r range mode _; do
		[[ $mode == rw* && $((16#${range#*-} - 16#${range%-*})) -eq $size ]] || continue
		sed -n "s/^${range%-*} //p" "/proc/$pid/numa_maps"
	done <"/proc/$pid/maps" | tr ' ' '\n' | sed -n 's/^N\([0-9]*\)=/\1 /p' | awk '{ print $1, $2 * 4 }'
	END
}

online() { # 0|1 NODE
	vm "for cpu in $((2 * $2)) $((2 * $2 + 1)); do echo $1 >/sys/devices/system/cpu/cpu\$cpu/online; done"
}
runs_at_home() {
	local home
	home=$(home_of "$1")
	[ -n "$home" ] && [ -z "$(guest_report "$1" | elsewhere "$((2 * ${home%%[-,]*}))-$((2 * ${home##*[-,]} + 1))")" ]
}
has_left() { [ "$(home_of "$1")" != "$2" ] && runs_at_home "$1"; } # NAME HOME
promised() { [ "$(vm "sed 's/.*\"cells\"//; s/\"devices_kib\"/\n&/g' /run/homenode/ledger/$(vm "virsh domuuid $1" | xargs).json |
	sed -n 's/^\"devices_kib\": *\([0-9]*\).*/\1/p' | xargs")" = "$2" ]; } # NAME "KIB…"

started() {
	# Node 0, whose first CPU can't go, is not for it.
	for name in narrow twin; do
		wish="nodes='1-3'"
		[ $name = narrow ] || wish="placement='off'"
		guest_define $name 2 128 prealloc balloon cpu="$one_cell" vcpu="current='1'" extra="$slots" metadata="$(wish "$wish")"
		guest_start $name
	done
	old=$(home_of narrow)
	wait_until $settled runs_at_home narrow
}

moved() {
	online 0 "$old"
	wait_until $settled has_left narrow "$old"
	new=$(home_of narrow)
	before=$(kib_on narrow "$old")
	online 1 "$old"
}

plugged() {
	for name in narrow twin; do
		vm "virsh -q iothreadadd $name 1 --live && virsh -q setvcpus $name 2 --live" >&2
		plug $name 64 0
		vm "virsh -q setmem $name 96M --live && virsh -q setmem $name 192M --live" >&2
	done
	wait_until $settled promised narrow 65536
	sleep 5
}

stays() {
	runs_at_home narrow || fail "threads of narrow off its home $new: $(thread_cpus narrow | xargs)"
	assert_eq "$(home_of narrow)" "$new" 'home of narrow'
	assert_eq "$(cg narrow libvirt/vcpu1/cpuset.cpus) $(cg narrow libvirt/iothread1/cpuset.cpus)" "$(node_cpus "$new") $(node_cpus "$new")" 'CPUs of new threads'
	# The kernel may take a huge page of it along with the CPUs, never back.
	assert_le "$(kib_on narrow "$old")" "$before" 'memory on the old home'
	assert_eq $(($(kib_on narrow "$old") + $(kib_on narrow "$new"))) 131072 'memory on both homes'
	assert_eq "$(blocks narrow 64)" "$new 65536" 'memory of the DIMM'
}

# Its cells are homenode's.
has_cells() { vm 'virsh dumpxml --inactive wide' | grep -q '<cell id=.1.'; }
wide_moved() {
	guest_define wide 4 256 prealloc balloon vcpu="current='2'"
	wait_until $settled has_cells
	# libvirt takes slots from then on only.
	vm "virsh dumpxml --inactive wide | sed \"s,^ *<memory ,$slots&,\" >wide.xml && virsh -q define wide.xml"
	guest_start wide
	wait_until $settled runs_at_home wide
	bound=$(home_of wide)
	case $bound in 0-1 | 2-3) ;; *) fail "home of wide: $bound" ;; esac
	online 0 "${bound#*-}"
	wait_until $settled has_left wide "$bound"
	say "wide: from $bound to $(home_of wide)"
	online 1 "${bound#*-}"
	wide_before=$(mem_by_node wide)
}

# Where its cells are bound to is where their DIMMs can be.
wide_plugged() {
	vm 'virsh -q iothreadadd wide 1 --live && virsh -q setvcpus wide 4 --live' >&2
	plug wide 48 0
	plug wide 80 1
	wait_until $settled promised wide '49152 81920'
	sleep 5
	runs_at_home wide || fail "threads of wide off its home: $(thread_cpus wide | xargs)"
	assert_eq "$(mem_by_node wide)" "$wide_before" 'memory that was there before'
	assert_eq "$(blocks wide 48) $(blocks wide 80)" "${bound%-*} 49152 ${bound#*-} 81920" 'memory of the DIMMs'
}

# More than its node has: as without homenode the rest comes from others, and QEMU is not killed for want of memory.
outgrown() {
	local pid
	guest_define growing 2 128 prealloc cpu="$one_cell" extra="<maxMemory slots='8' unit='GiB'>4</maxMemory>"
	guest_start growing
	wait_until $settled runs_at_home growing
	pid=$(guest_pid growing)
	assert_eq "$(mem_by_node growing)" "$(home_of growing) 131072" 'memory of growing at its start'
	plug growing 1440 0
	assert_eq "$(guest_pid growing)" "$pid" 'process of growing'
	assert_eq "$(blocks growing 1440 | awk '{ kib += $2 } END { print kib }')" $((1440 * 1024)) 'memory of its DIMM'
	say "its DIMM: $(blocks growing 1440 | xargs)"
}

for step in started moved plugged stays wide_moved wide_plugged outgrown; do
	part $step
	$step
done
part 'libvirtd starts anew'
vm 'systemctl restart libvirtd && sleep 5 && virsh list' >&2
stays
assert_eq "$(vm 'journalctl -q -b -t homenoded -o cat' | grep -c 'changes failed' || true)" 0 'failures of the daemon'
assert_eq "$(vm 'systemctl show -P NRestarts homenoded')" 0 'restarts of the daemon'
