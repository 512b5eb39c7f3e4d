#!/bin/bash
# Moving memory in batches: as fast as the kernel does it at once, and nobody stands still for long.
# from: up
# limit: 1800
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$host_dir/lib/programs.sh"

programs "$suite" "$(cd "$host_dir/../.." && pwd)" >/dev/null
tree=$cache/programs/$suite
in_build_root "$(build_root_dir "$suite")" "$tree" 'make -s -C /tree/build tests/bench/pages-rate tests/bench/pages-pause'
for program in pages-rate pages-pause; do
	put "$tree/build/tests/bench/$program" "/root/$program"
	vm "chmod +x /root/$program"
done

# Memory that the emulator has not touched yet is slow, whoever moves to it: all of it is written once before.
touch_all() {
	set -e
	for node in 0 1; do
		mount -t tmpfs -o "size=100%,mpol=bind:$node" tmpfs /mnt
		free=$(awk '/MemFree/ { print int($4 / 1024) }' "/sys/devices/system/node/node$node/meminfo")
		dd if=/dev/zero of=/mnt/all bs=1M count=$((free - 100)) status=none
		umount /mnt
		echo 144 >"/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages"
	done
}
vm "$(declare -f touch_all); touch_all"

# What else the computer does is in both rates of a round, so rounds are compared, not sums; 15 rounds of the
# kernel's way beside itself came to 91 and to 103 %, so it takes many.
part 'rates'
rates=$(vm '/root/pages-rate 256 40')
say "$rates"
assert_eq "$(grep -c ' by rounds ' <<<"$rates")" 4 'kinds of memory that were measured'
while read -r percent; do
	# 90 is the goal; whatever else runs costs batches more, each of which waits for every CPU.
	assert_ge "$percent" 80 'percent of the rate of migrate_pages(2)'
done < <(sed -n 's/.*and \([0-9]*\) % by rounds .*/\1/p' <<<"$rates")

# field TEXT LINE: the number of milliseconds that follows the text, rounded.
field() { sed -n "s/.*$1 at most \([0-9]*\).*/\1/p" <<<"$2"; }

part 'pauses'
pauses=$(vm '/root/pages-pause 512')
say "$pauses"
# The kernel moves 512 pages at a time, or a huge page, whoever asks: 20 to 240 ms here, and that is how long a guest waits.
while read -r line; do
	assert_le "$(field 'stood still for' "$line")" 500 'ms that the guest stood still while it was moved'
done < <(grep 'in batches:' <<<"$pauses")
# Whoever works with cgroups waits for all of a direct change, and for nothing of the batches.
mapfile -t batches < <(grep 'in batches:' <<<"$pauses")
mapfile -t direct < <(grep 'by cpuset.mems:' <<<"$pauses")
assert_eq "${#batches[@]}-${#direct[@]}" 2-2 'kinds of memory that were moved both ways'
for i in 0 1; do
	assert_le $((5 * $(field 'attaching took' "${batches[i]}"))) "$(field 'attaching took' "${direct[i]}")" \
		'ms, five times, that an unrelated attach waited'
done
