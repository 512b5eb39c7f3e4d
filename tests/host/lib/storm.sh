# shellcheck shell=bash
# Words for scenarios in which homenoded is killed while guests are started, stopped, edited and plugged into.

storm_secret='s3cret'

# storm_begin: four narrow guests and a wide one, none running.
storm_begin() {
	local i
	for i in 1 2 3 4; do
		guest_define "small$i" 2 64 vcpu="current='1'"
	done
	guest_define big 4 128 devices="<graphics type='vnc' autoport='yes' passwd='$storm_secret'/>"
}

# storm ROUNDS RESTARTS: does that many things, libvirtd's restarts among them, while homenoded is killed every few seconds. Says
# which guests should run in the end.
storm() {
	vm "rounds=$1 restarts=$2 bash -s" <<-'END'
	RANDOM=1
	running=()
	(while [ ! -e /run/calm ]; do sleep $((RANDOM % 3)).$((RANDOM % 10)); pkill -KILL -x homenoded; done) >/dev/null 2>&1 &
	killer=$!

	stop_one() {
		local at=$((RANDOM % ${#running[@]}))
		virsh -q destroy "${running[at]}" || return
		running=("${running[@]:0:at}" "${running[@]:at + 1}")
	}
	start_one() {
		local name
		for name in small1 small2 small3 small4 big; do
			case " ${running[*]} " in *" $name "*) continue ;; esac
			virsh -q start $name && running+=($name)
			return
		done
	}
	plug() {
		local name
		for name in "${running[@]}"; do
			[ $name != big ] || continue
			virsh -q setvcpus $name $((1 + RANDOM % 2)) --live
			return
		done
	}
	edit() {
		virsh dumpxml --inactive --security-info big >big.xml
		sed -i "s/<memory .*/<memory>$((131072 + RANDOM % 8 * 4096))<\/memory>/; /<currentMemory/d; /<title>/d
			s/<name>.*/&<title>edit $RANDOM<\/title>/" big.xml
		virsh -q define big.xml
	}

	for ((i = 1; i <= rounds; i++)); do
		if [ $((i * restarts / rounds)) -gt $(((i - 1) * restarts / rounds)) ]; then
			systemctl restart libvirtd
		fi
		case $((RANDOM % 6)) in
		0 | 1 | 2) if [ ${#running[@]} -lt 3 ]; then start_one; else stop_one; fi ;;
		3 | 4) edit ;;
		5) plug ;;
		esac >&2
	done
	touch /run/calm
	wait $killer
	printf '%s\n' "${running[@]}" | sort | xargs
	END
}

daemon_is_back() { vm 'systemctl is-active homenoded && journalctl -q -b -t homenoded -o cat "_PID=$(pidof homenoded)" | grep -q "connected to"'; }

# in_force NAME: CPUs of every vCPU's group as the ledger has them. (The nodes with two CPUs each.)
in_force() {
	local home cpus
	home=$(home_of "$1")
	[ -n "$home" ] || return 1
	for cpus in $(vm "cat \"\$($guest_report $1 scope)\"/libvirt/vcpu*/cpuset.cpus"); do
		[ $((${cpus%-*} / 2)) -ge "${home%-*}" ] && [ $((${cpus#*-} / 2)) -le "${home#*-}" ] || return 1
	done
}

# storm_check RUNNING: nothing has been lost.
storm_check() {
	local name
	wait_until 30 daemon_is_back
	assert_eq "$(vm 'virsh list --name | sort | xargs')" "$1" 'guests that run'
	assert_eq "$(vm 'virsh list --all --name | sort | xargs')" 'big small1 small2 small3 small4' 'definitions'
	vm 'virsh dumpxml --inactive --security-info big' | grep -q "passwd='$storm_secret'" || fail 'the password is lost'
	for name in $1; do
		wait_until 40 in_force "$name"
	done
	assert_eq "$(vm 'cd /run/homenode/ledger && sed -n "s/.*\"name\":\"\([^\"]*\)\".*/\1/p" *.json 2>/dev/null | sort | xargs')" "$1" 'entries in the ledger'
	assert_eq "$(vm 'ls /var/lib/homenode/definitions /run/homenode/ledger | grep -vE "^/|^$|^[0-9a-f-]{36}[.]"' || true)" '' 'half-written files'
}
