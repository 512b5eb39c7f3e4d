#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The unit of homenoded: known to systemd in all it says, and closed to what homenoded does not need.
unit=$HOMENODE_BUILD/contrib/homenoded.service
limit=30 # 3.0

command -v systemd-analyze >/dev/null || {
	echo "skipped: no systemd-analyze"
	exit 77
}
systemd-analyze security --help 2>/dev/null | grep -q -- --offline || {
	echo "skipped: systemd-analyze can't look at a file"
	exit 77
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# `verify` wants the program to be there.
sed "s,^ExecStart=.*,ExecStart=/bin/true," "$unit" >"$dir/homenoded.service"

systemd-analyze verify --man=no "$dir/homenoded.service" 2>&1 | grep homenoded && {
	echo "FAIL: systemd does not understand it"
	exit 1
}
systemd-analyze security --no-pager --offline=true --threshold=$limit "$dir/homenoded.service" >"$dir/report" 2>&1 || {
	cat "$dir/report"
	echo "FAIL: more open than $limit"
	exit 1
}
tail -n 1 "$dir/report"
