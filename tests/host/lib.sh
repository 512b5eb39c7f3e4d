# shellcheck shell=bash
# For scenarios: acts on the machine that tests/host/run has prepared, and says why it failed.
# A scenario ends at the first command that fails; there is no way to skip.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
. "$host_dir/lib/image.sh"
. "$host_dir/lib/qemu.sh"
. "$host_dir/lib/lifecycle.sh"

select_machine "${HOMENODE_SUITE:?set by tests/host/run}" "${HOMENODE_LAYOUT:?set by tests/host/run}"
trap 'say "failed: ${BASH_COMMAND} (${BASH_SOURCE[0]##*/}:$LINENO)"' ERR
trap 'exit 1' USR1
set -E

# fail TEXT: ends the scenario, from within $(…) and pipelines too, where an exit would only end
# that part, and an empty answer might pass for the wanted one.
fail() {
	say "FAIL: $* (lines ${BASH_LINENO[*]} of $(basename "$0"))"
	[ "$BASHPID" = $$ ] || kill -USR1 $$
	exit 1
}

assert_eq() { [ "$1" = "$2" ] || fail "${3:-values differ}: '$1', wanted '$2'"; }
assert_le() { [ "$1" -le "$2" ] || fail "${3:-too much}: $1, at most $2"; }
assert_ge() { [ "$1" -ge "$2" ] || fail "${3:-too little}: $1, at least $2"; }

# vm CMD…: a command in the machine; a failing one is an error of the scenario.
vm() { remote "$@"; }

# part TEXT: what is tried now, for the log of a scenario that takes long or fails.
part() { say "[$SECONDS s] $*"; }

# wait_until SECONDS CMD…: for commands of a scenario, functions as well.
wait_until() { wait_for "$@" || fail "not within $1 s: ${*:2}"; }

xml_text() { sed 's/&/\&amp;/g; s/</\&lt;/g' <<<"$1"; }

# cells_xml COUNT VCPUS MIB: even cells.
cells_xml() {
	local cell vcpus=$(($2 / $1)) mib=$(($3 / $1))
	echo '<numa>'
	for ((cell = 0; cell < $1; cell++)); do
		echo "<cell id='$cell' cpus='$((cell * vcpus))-$((cell * vcpus + vcpus - 1))'" \
			"memory='$mib' unit='MiB'/>"
	done
	echo '</numa>'
}

# Without what costs most where every instruction is emulated twice.
guest_linux="<kernel>/var/lib/libvirt/images/guest-vmlinuz</kernel>
<initrd>/var/lib/libvirt/images/guest-initrd.gz</initrd>
<cmdline>console=ttyS0 quiet mitigations=off nokaslr tsc=reliable random.trust_cpu=on edd=off \
lsm=capability audit=0 cryptomgr.notests no_timer_check lpj=1000000</cmdline>"

# guest_xml NAME VCPUS MIB [OPTION…]: the definition of a small guest, on standard output.
#   balloon           with libvirt's usual balloon, which is left out otherwise
#   prealloc          all its memory is touched at start
#   confined          under AppArmor, whose profile takes seconds to make; the hook's own confinement is libvirtd's
#   boot              boots Linux and reports (minutes under emulation within emulation); without
#                     it the firmware finds nothing to boot and the vCPUs fall idle at once, which
#                     is all that placing needs
#   cells=N           N even cells
#   vcpu=ATTRIBUTES   for <vcpu>, e.g. vcpu="placement='auto'"
#   metadata=XML numatune=XML cputune=XML backing=XML cpu=XML devices=XML   inside that element
#   extra=XML         inside <domain>
guest_xml() {
	local name=$1 vcpus=$2 mib=$3 option
	local -A part=()
	shift 3
	for option in "$@"; do
		case $option in
		balloon) part[balloon]=' ' ;;
		boot) part[os]=$guest_linux ;;
		confined) part[seclabel]=' ' ;;
		prealloc) part[backing]+="<allocation mode='immediate'/>" ;;
		cells=*) part[cpu]+=$(cells_xml "${option#*=}" "$vcpus" "$mib") ;;
		vcpu=* | metadata=* | numatune=* | cputune=* | backing=* | cpu=* | devices=* | extra=*)
			part[${option%%=*}]+=${option#*=} ;;
		*) fail "guest_xml: unknown option '$option'" ;;
		esac
	done
	name=$(xml_text "$name")
	cat <<-END
	<domain type='qemu'>
	<name>$name</name>
	${part[metadata]:+<metadata>${part[metadata]}</metadata>}
	<memory unit='MiB'>$mib</memory>
	${part[backing]:+<memoryBacking>${part[backing]}</memoryBacking>}
	<vcpu ${part[vcpu]-}>$vcpus</vcpu>
	${part[cputune]:+<cputune>${part[cputune]}</cputune>}
	${part[numatune]:+<numatune>${part[numatune]}</numatune>}
	<os>
	<type arch='x86_64' machine='q35'>hvm</type>
	${part[os]-}
	</os>
	<features><acpi/></features>
	<cpu mode='maximum'>${part[cpu]-}</cpu>
	<on_poweroff>destroy</on_poweroff>
	<devices>
	${part[balloon]-<memballoon model='none'/>}
	<serial type='file'><source path='/var/log/libvirt/qemu/$name-serial.log'/></serial>
	${part[devices]-}
	</devices>
	${part[seclabel]-<seclabel type='none'/>}
	${part[extra]-}
	</domain>
	END
}

# guest_define, guest_create: the arguments of guest_xml; the latter starts a transient guest.
guest_define() { guest_xml "$@" | remote 'virsh -q define /dev/stdin' >&2; }
guest_create() { guest_xml "$@" | remote 'virsh -q create /dev/stdin' >&2; }
guest_start() { remote "virsh -q start --domain $(printf %q "$1")" >&2; }
guest_destroy() { remote "virsh -q destroy --domain $(printf %q "$1")" >&2; }

# guest_report NAME: see the file guest-report; the functions below pick from it. To ask several
# things about one moment, keep its output and pick from that: report=$(guest_report NAME).
guest_report() {
	remote "$guest_report $(printf %q "$1")" ||
		fail "no report of guest $1"
}

guest_pid() { guest_report "$1" | awk '$1 == "pid" { print $2 }'; }
guest_scope() { guest_report "$1" | sed -n 's/^scope //p'; }

# mem_by_node NAME: "NODE KIB" of the guest's RAM, a line a node; mem_of_cell NAME CELL: of one
# cell; mem_of_process NAME: of the whole QEMU process.
mem_by_node() {
	guest_report "$1" | awk '$1 == "cell" { kib[$3] += $4 }
		END { for (node in kib) print node, kib[node] }' | sort -n
}
mem_of_cell() { guest_report "$1" | awk -v cell="$2" '$1 == "cell" && $2 == cell { print $3, $4 }'; }
mem_of_process() { guest_report "$1" | awk '$1 == "process" { print $2, $3 }'; }

# mem_share NAME NODE…: percent of the guest's RAM that is on these nodes.
mem_share() {
	local name=$1
	shift
	mem_by_node "$name" | awk -v nodes=" $* " '{ sum += $2 }
		index(nodes, " " $1 " ") { there += $2 }
		END { print sum ? int(there * 100 / sum) : 0 }'
}

# thread_cpus NAME: "COMM CPUS_ALLOWED_LIST" of every thread.
thread_cpus() { guest_report "$1" | awk '$1 == "thread" { print $3, $4 }'; }

# cg NAME FILE: a cgroup file of the guest's scope, e.g. cpuset.mems or libvirt/vcpu0/cpuset.cpus
cg() {
	remote "cat \"\$($guest_report $(printf %q "$1") scope)/$2\"" ||
		fail "no $2 of guest $1"
}

serial_log() { remote "cat /var/log/libvirt/qemu/$(printf %q "$1")-serial.log" | tr -d '\r'; }

# wait_guest_booted NAME: its kernel is up and has said what it sees.
wait_guest_booted() {
	remote "timeout $((120 * ${HOMENODE_PATIENCE:-1})) sh -c '
		until grep -q GUEST-REPORTED \"\$0\"; do sleep 0.5; done'" \
		"$(printf %q "/var/log/libvirt/qemu/$1-serial.log")" || fail "guest $1 did not boot"
}
