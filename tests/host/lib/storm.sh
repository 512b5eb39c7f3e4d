# shellcheck shell=bash
# Words for scenarios in which homenoded is killed while guests are started, stopped, edited and plugged into.

storm_secret='s3cret'
storm_names='roomy small1 small2 small3 wide1 wide2'

# storm_guest NAME VCPUS CURRENT MIB [OPTION…]: its file in the machine, which says which domain it is, to be defined anew.
storm_guest() {
	local name=$1 vcpus=$2 current=$3 mib=$4
	shift 4
	guest_xml "$name" "$vcpus" "$mib" vcpu="current='$current'" \
		devices="<graphics type='vnc' autoport='yes' passwd='$storm_secret'/>" "$@" |
		sed "s,^<name>.*,&<uuid>$(cat /proc/sys/kernel/random/uuid)</uuid>," | put /dev/stdin "/root/$name.xml"
}

# storm_begin: narrow guests, one of them for DIMMs, and wide ones, none running.
storm_begin() {
	local name
	for name in small1 small2 small3; do
		storm_guest $name 2 1 64
	done
	storm_guest roomy 2 2 64 cells=1 extra="<maxMemory slots='4' unit='MiB'>1024</maxMemory>"
	storm_guest wide1 4 2 128
	storm_guest wide2 4 2 128
	put <(echo "<memory model='dimm'><target><size unit='MiB'>128</size><node>0</node></target></memory>") /root/dimm.xml
	vm "for name in $storm_names; do virsh -q define /root/\$name.xml; done" >&2
}

# storm ROUNDS RESTARTS: see the file storm; leaves its report in $storm. At least one kill for four rounds, of which
# most come while the daemon is at work.
storm() {
	put "$host_dir/storm" /root/storm
	storm=$(vm "bash /root/storm $1 $2" </dev/null)
	say "$(storm_of count | xargs)"
	[ "$(storm_count failed)" = 0 ] || vm 'tail -qn 1 /var/log/libvirt/qemu/*.log; journalctl -q -b -u libvirtd -o short-precise | tail -n 50' >&2
	assert_eq "$(storm_count failed)" 0 'what failed'
	assert_eq "$(storm_count restart)" "$2" 'restarts of libvirtd'
	assert_ge "$(storm_count kill)" $(($1 / 4)) 'kills'
	assert_ge "$(($(storm_count start) + $(storm_count stop)))" $(($1 * 2 / 5)) 'starts and stops'
	assert_ge "$(storm_count stop)" $(($1 / 10)) 'stops'
	assert_ge "$(($(storm_count define) + $(storm_count edit)))" $(($1 / 4)) 'edits'
	assert_ge "$(storm_count plug)" $(($1 / 5)) 'hotplugs'
	assert_ge "$(vm 'journalctl -q -b -t homenoded -o cat | grep -c "connected to"')" $(($1 / 6)) 'times that the daemon was at work'
}

storm_of() { sed -n "s/^$1 //p" <<<"$storm" | sort; }
storm_count() { storm_of count | awk -v what="$1" '$1 == what { print $2 }'; }

daemon_is_back() { vm 'systemctl -q is-active homenoded && journalctl -q -b -t homenoded -o cat "_PID=$(pidof homenoded)" | grep -q "connected to"'; }

# agreed: the ledger and the cgroups of running guests.
agreed() {
	disagreement=$(vm 'python3 -' <"$host_dir/agreement" 2>&1) && [ -z "$disagreement" ]
}

# has_its_cells NAME: two, and of the size that the user wants.
has_its_cells() {
	vm "virsh dumpxml --inactive $1" | awk -F"'" '/<memory / { split($0, part, /[<>]/); wanted = part[3] }
		/<cell id=/ { n++; sum += $6 } END { exit n != 2 || sum != wanted }'
}

# storm_check: nothing has been lost.
storm_check() {
	local name title running
	running=$(storm_of running | awk '{ print $1 }' | xargs)
	wait_until 60 daemon_is_back
	assert_eq "$(vm 'virsh list --name | sort | xargs')" "$running" 'guests that run'
	assert_eq "$(vm 'virsh list --all --name | sort | xargs')" "$storm_names" 'definitions'
	wait_for 40 agreed || fail "ledger and cgroups do not agree: $disagreement"
	assert_eq "$(vm 'cd /run/homenode/ledger && sed -n "s/.*\"pid\":\([0-9]*\).*\"name\":\"\([^\"]*\)\".*/\2 \1/p" *.json | sort')" \
		"$(storm_of running)" 'guests in the ledger, and their processes'
	wait_until 20 no_drop_ins
	for name in wide1 wide2; do
		wait_until 90 has_its_cells $name
	done
	for name in $storm_names; do
		vm "virsh dumpxml --inactive --security-info $name" | grep -q "passwd='$storm_secret'" || fail "the password of $name is lost"
	done
	while read -r name title; do
		assert_eq "$(vm "virsh desc --title $name --config" </dev/null)" "$title" "title of $name"
	done < <(storm_of title)
	assert_eq "$(vm 'ls /var/lib/homenode/definitions /run/homenode/ledger | grep -vE "^/|^$|^[0-9a-f-]{36}[.](json|xml)$"' || true)" '' 'half-written files'
	assert_eq "$(vm 'journalctl -q -b -u homenoded -o cat | grep "Main process exited" | grep -v "status=9/KILL"' || true)" '' 'other ends of the daemon'
}
