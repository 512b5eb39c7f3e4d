#!/bin/bash
# A domain wider than a node gets its cells when it is defined, whoever defines it; what the user writes wins; nothing is
# lost on the way, and all of it can be taken out again.
# limit: 900
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/placed.sh"

secret="<graphics type='vnc' autoport='yes' passwd='s3cret'/>"

inactive() { vm "virsh dumpxml --inactive --security-info $1"; }
# Without what the user said to homenode, and the element that this stands in.
without_wish() { grep -vE '^ *(<homenode:domain .*/>|</?metadata>)$' || true; }
has_cells() { [ "$(inactive "$1" | grep -c '<cell id=')" -eq "${2:-2}" ]; }
has_none() { ! inactive "$1" | grep -qE '<numa>|<numatune>|urn:homenode:applied'; }

# Cells on two nodes next to each other, half of KIB each.
assert_cells() {
	local first second
	first=$(mem_of_cell "$1" 0)
	second=$(mem_of_cell "$1" 1)
	case "${first% *} ${second% *}" in
	'0 1' | '2 3') ;;
	*) fail "cells of $1 are on nodes '$first' and '$second'" ;;
	esac
	assert_eq "${first#* } ${second#* }" "$(($2 / 2)) $(($2 / 2))" "memory of the cells of $1"
	assert_eq "$(thread_cpus "$1" | awk '$1 == "CPU_3/TCG" { print $2 }')" "$(node_cpus "${second% *}")" "CPUs of vCPU 3 of $1"
}

# What is there already when the daemon comes.
found() {
	vm 'systemctl stop homenoded'
	guest_define wide 4 256 devices="$secret"
	guest_define narrow 2 128 devices="$secret"
	original=$(inactive wide)
	narrow=$(inactive narrow)
	uuid=$(vm 'virsh domuuid wide' | tr -d '\n')
	vm 'systemctl start homenoded'
	wait_until 30 has_cells wide
	inactive wide | grep -q "passwd='s3cret'" || fail 'the password is lost'
	assert_eq "$(vm "stat -c %a /var/lib/homenode/definitions/$uuid.xml")" 600 'mode of the copy'
	assert_eq "$(vm "cat /var/lib/homenode/definitions/$uuid.xml")" "$original" 'the copy kept'
	assert_eq "$(inactive narrow)" "$narrow" 'a definition that fits one node'
}

opted_out() {
	metadata_set wide "placement='off'" --config
	wait_until 30 has_none wide
	assert_eq "$(inactive wide | without_wish)" "$original" 'the definition after opting out'
	metadata_set wide "placement='auto'" --config
	wait_until 30 has_cells wide
}

# Somebody edits. libvirt itself takes <memory> from the cells, where there are any, so it is those that are edited.
edited() {
	vm "EDITOR=\"sed -i '/<cell /s/131072/196608/; s/<memory .*/<title>edited<\/title>&/'\" virsh edit wide >/dev/null && sleep 5"
	assert_eq "$(inactive wide | grep -c "<cell id=.* memory='196608'")" 2 'cells of the size that the user wants'
	inactive wide | grep -q '<title>edited</title>' || fail 'what was edited is lost'
	inactive wide | grep -q "passwd='s3cret'" || fail 'the password is lost by editing'
}

taken_out() {
	vm "EDITOR=\"sed -i '/<numa>/,/<\/numa>/d; /<numatune>/,/<\/numatune>/d'\" virsh edit wide >/dev/null"
	sleep 5
	inactive wide | grep '<cell id=' && fail 'cells that the user took out are there again'
	return 0
}

# What is given back stays as it was, over a restart of the daemon too; defining it anew is a new beginning.
undone() {
	guest_define undone 4 256 devices="$secret"
	wait_until 30 has_cells undone
	vm 'homenode undo undone' >&2
	assert_eq "$(inactive undone | sed 's/undone/wide/' | grep -v '<uuid>')" "$(grep -v '<uuid>' <<<"$original")" 'the definition given back'
	vm 'systemctl restart homenoded && sleep 5'
	has_none undone || fail 'cells again after undo'
	vm 'virsh -q desc undone --config --title renamed >/dev/null'
	wait_until 30 has_cells undone
}

by_virsh() {
	guest_xml line 4 256 prealloc | vm 'cat >line.xml && virsh -q define line.xml && virsh -q start line'
	assert_cells line 262144
	has_cells line || fail 'no cells in the definition'
}

# Giving it back while it runs: CPUs are open, cells stay bound where they are, whatever that means for the memory set.
undone_running() {
	local before
	before=$(bindings line)
	[ -n "$before" ] || fail 'no binding of cells'
	vm 'homenode undo line' >&2
	assert_eq "$(thread_cpus line | awk '{ print $2 }' | sort -u)" 0-7 'CPUs of a guest given back'
	assert_eq "$(bindings line)" "$before" 'bindings of cells'
	assert_eq "$(mem_of_cell line 1)" "$(bindings line | awk 'END { sub("bind:", "", $2); print $2 }') 131072" 'memory of cell 1'
	has_none line || fail 'cells in the definition after undo'
	guest_destroy line
}

# bindings NAME: mappings that are bound to nodes, in the order of cells.
bindings() { vm "awk '\$2 ~ /^bind/ { print \$1, \$2 }' /proc/$(guest_pid "$1")/numa_maps | sort -r"; }

# Nobody gets in between here: it runs without cells, on two nodes next to each other; the definition has them from then on.
started_before() {
	case $(mem_by_node "$1" | awk '{ print $1 }' | xargs) in
	0 | 1 | 2 | 3 | '0 1' | '2 3') ;;
	*) fail "memory of $1 is on nodes $(mem_by_node "$1" | xargs)" ;;
	esac
	wait_until 30 has_cells "$1"
}

by_python() {
	guest_xml python 4 256 prealloc | vm 'cat >python.xml'
	vm 'python3 -' <<-'END'
	import libvirt
	libvirt.open("qemu:///system").defineXML(open("python.xml").read()).create()
	END
	started_before python
	guest_destroy python
}

by_virt_install() {
	vm 'virt-install --connect qemu:///system --virt-type qemu --name install --memory 256 --vcpus 4 --import --disk none --osinfo generic \
		--network none --graphics none --noautoconsole --seclabel type=none' >&2
	started_before install
}

for step in found opted_out edited taken_out undone by_virsh undone_running by_python by_virt_install; do
	part $step
	$step
done
