#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the programs link.  The hook runs at every start, inside libvirt's time: it does without the libraries that it has
# no use for (libvirt, which it must not call; libcgroup, which takes 10 to 29 ms to begin with under emulation;
# libsystemd, which it asks once in a boot, and which brings seven more: act/libsystemd.h).
command -v readelf >/dev/null || {
	echo "skipped: no readelf"
	exit 77
}

failures=0
# links PROGRAM LIBRARY
links() {
	LC_ALL=C readelf -d "$HOMENODE_BUILD/$1" | grep NEEDED | grep -q "\[$2\.so"
}

for library in libvirt libcgroup libsystemd; do
	! links hooks/qemu "$library" || {
		echo "FAIL: the hook links $library"
		failures=$((failures + 1))
	}
	for program in src/homenode src/homenoded; do
		links "$program" "$library" || {
			echo "FAIL: $program does not link $library"
			failures=$((failures + 1))
		}
	done
done
# only the command has a screen
links src/homenode libncursesw || {
	echo "FAIL: src/homenode does not link libncursesw"
	failures=$((failures + 1))
}
for program in hooks/qemu src/homenoded; do
	! links $program libncursesw || {
		echo "FAIL: $program links libncursesw"
		failures=$((failures + 1))
	}
done
exit $((failures > 0))
