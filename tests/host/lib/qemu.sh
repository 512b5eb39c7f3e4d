# shellcheck shell=bash
# One running machine: QEMU started from an image, talked to by its monitor and by ssh. All that
# belongs to it lies in $cache/machines/SUITE-LAYOUT.

# select_machine SUITE LAYOUT_FILE: sets what the other functions here work on.
select_machine() {
	suite=$1
	layout_file=$2
	release=$(debian_release "$suite")
	[ -f "$layout_file" ] || die "no layout file $layout_file"
	machine=$suite-$(basename "$layout_file" .sh)
	dir=$cache/machines/$machine
	mkdir -p "$dir"
	# 16 characters, as a socket's path must be short whatever the cache's is.
	ssh_control=/tmp/homenode-ssh-$(printf '%s' "$dir" | digest)
}

# running: is the process in the pid file still this machine's QEMU? (Ids come again.)
running() {
	local pid
	pid=$(cat "$dir/pid" 2>/dev/null) || return 1
	grep -qzsxF "$dir/pid" "/proc/$pid/cmdline"
}

ssh_options() {
	printf '%s\n' -q -F none -i "$ssh_key" -p "$(cat "$dir/port")" \
		-o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 \
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o KexAlgorithms=curve25519-sha256 -o ControlPath="$ssh_control" "$@"
}

# Every command goes through one connection: a key exchange costs a second under emulation.
# The master is started apart, without our descriptors, so that nobody waits for its output.
ssh_master() {
	local options
	mapfile -t options < <(ssh_options -o ControlMaster=yes -o ControlPersist=yes)
	unlocked limit 15 ssh "${options[@]}" -fnNT root@127.0.0.1 >/dev/null 2>&1
}

ssh_master_stop() {
	local options
	mapfile -t options < <(ssh_options)
	limit 5 ssh "${options[@]}" -O exit root@127.0.0.1 >/dev/null 2>&1 || rm -f "$ssh_control"
}

# remote CMD…: a command in the machine, as root, with our standard input.
remote() {
	local options
	if ! running; then
		say "$machine is not running"
		return 255
	fi
	mapfile -t options < <(ssh_options)
	if ! [ -S "$ssh_control" ] && ! wait_for 60 ssh_master; then
		say "$machine does not answer ssh"
		return 255
	fi
	ssh "${options[@]}" root@127.0.0.1 "$@"
}

# monitor COMMAND: a line for QEMU's human monitor, sent through the machine protocol, whose
# answers carry an id: the answer to a command that somebody gave up on is not taken for ours.
monitor() {
	local id=$$-$RANDOM line until=$((SECONDS + 120))
	running || die "$machine is not running"
	exec {to}<>"$dir/qmp.in" {from}<>"$dir/qmp.out"
	printf '{"execute":"qmp_capabilities"}\n' >&"$to"
	printf '{"execute":"human-monitor-command","arguments":{"command-line":"%s"},"id":"%s"}\n' \
		"$1" "$id" >&"$to"
	while [ $SECONDS -lt $until ] && running; do
		IFS= read -r -t 5 line <&"$from" || continue
		case $line in
		*"\"$id\""*) break ;;
		esac
	done
	exec {to}>&- {from}>&-
	case $line in
	# The human monitor reports a failure as text in a successful answer.
	*"\"$id\""*) [[ $line == *'"return": ""'* ]] || { say "$1: $line"; return 1; } ;;
	*) say "$1: no answer from $machine"; return 1 ;;
	esac
}

snapshot_exists() {
	qemu-img snapshot -U -l "$dir/disk.qcow2" 2>/dev/null |
		awk -v name="$1" '$2 == name { found = 1 } END { exit !found }'
}

# disk_key: what the snapshots of this machine depend on besides its image.
disk_key() {
	{
		image_dir "$suite"
		declare -f launch layout_arguments
		cat "$layout_file"
		qemu-system-x86_64 --version
	} | digest
}

disk_fits() {
	[ -f "$dir/disk.qcow2" ] && [ "$(cat "$dir/key" 2>/dev/null)" = "$(disk_key)" ]
}

ensure_disk() {
	local key
	key=$(disk_key)
	! disk_fits || return 0
	rm -f "$dir/key" "$dir/disk.qcow2"
	image_dir "$suite" >"$dir/image"
	limit 60 qemu-img create -q -f qcow2 -b "$(cat "$dir/image")/disk.qcow2" -F qcow2 \
		"$dir/disk.qcow2"
	echo "$key" >"$dir/key"
}

# launch [ARGUMENT…]: QEMU in the background on a port that is free.  Without "fast" string instructions: they copy and clear
# memory byte by byte when emulated, ten times slower where both addresses fall into one place of the emulator's TLB.
launch() {
	local image port tries arguments
	image=$(cat "$dir/image")
	layout_arguments "$layout_file"
	rm -f "$dir/qmp.in" "$dir/qmp.out" "$dir/pid"
	mkfifo -m 600 "$dir/qmp.in" "$dir/qmp.out"
	for ((tries = 0; tries < 20; tries++)); do
		port=$((20000 + RANDOM % 12000))
		arguments=(-name "homenode-$machine" -accel tcg,thread=multi -cpu max,erms=off,fsrm=off -machine q35
			-display none -no-user-config -nodefaults -daemonize -pidfile "$dir/pid"
			-serial "file:$dir/console" -chardev "pipe,id=qmp,path=$dir/qmp"
			-mon chardev=qmp,mode=control
			-kernel "$image/vmlinuz" -initrd "$image/initrd"
			-append "root=/dev/vda rw console=ttyS0 net.ifnames=0 quiet"
			-drive "file=$dir/disk.qcow2,if=none,id=disk,cache=unsafe"
			-device virtio-blk-pci,drive=disk,bus=pcie.0
			-netdev "user,id=net,hostfwd=tcp:127.0.0.1:$port-:22"
			-device virtio-net-pci,netdev=net,mac=52:54:00:12:34:56,bus=pcie.0
			"${layout[@]}" "$@")
		if unlocked limit 60 qemu-system-x86_64 "${arguments[@]}" 2>"$dir/qemu.log"; then
			echo "$port" >"$dir/port"
			return
		fi
		grep -q 'host forwarding' "$dir/qemu.log" || break
	done
	cat "$dir/qemu.log" >&2
	return 1
}

# stop: asks QEMU to end; what counts is in the snapshots, so there is nothing to shut down.
stop() {
	local pid
	if [ -f "$dir/port" ]; then
		ssh_master_stop
	fi
	running || return 0
	pid=$(cat "$dir/pid")
	(monitor quit) >/dev/null 2>&1 || true
	wait_for 10 not_running || kill "$pid"
	wait_for 10 not_running || kill -9 "$pid"
	rm -f "$dir/pid" "$dir/port"
}

not_running() { ! running; }
