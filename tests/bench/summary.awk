# SPDX-License-Identifier: LGPL-2.1-or-later
# One line per table: homenode beside the best of the others that refuse no guest with room and move none, and
# beside the one that moves guests.  Columns are those of `compare --exact`.
function flush_table() {
        if (mine == "") return
        printf "%-46s %-14s %s %s  %s %s %s  %s %s %s  %s %s  %s\n", title, stage, mine, mine99, best, best_name, mine <= best + 1e-9 ? "" : "LESS",
               best99, best99_name, mine99 <= best99 + 1e-9 ? "" : "LESS", moving, moving99, above
        tables++; means += mine <= best + 1e-9; p99s += mine99 <= best99 + 1e-9; movers += mine <= moving + 1e-9
        mine = ""; best = best99 = 99; above = "-"
}
BEGIN {
        print "TRACE AND HOST, STAGE, HOMENODE: MEAN 99TH, BEST OTHERS: MEAN NAME, 99TH NAME, ESXI-LIKE: MEAN 99TH, HOMENODE ABOVE BEST POSSIBLE: STARTS ALL"
        best = best99 = 99; above = "-"
}
FNR == 1 { flush_table(); title = $0; stage = "whole"; next }
/^the same guests/ { flush_table(); stage = "same guests"; next }
/^to the first/ { flush_table(); stage = "first refusal"; next }
/^to the end/ { flush_table(); stage = "end"; next }
/^POLICY/ { next }
$1 == "homenode" {
        mine = $2; mine99 = $3
        above = ($12 == "" ? "-" : $12) " " ($13 == "" ? "-" : $13 " " $14 " " $15)
        next
}
$1 == "homenode-start" { next }
$1 == "esxi-like" { moving = $2; moving99 = $3; next }
/\(0\)/ {
        if ($2 < best) { best = $2; best_name = $1 }
        if ($3 < best99) { best99 = $3; best99_name = $1 }
}
END {
        flush_table()
        printf "%d tables: mean lowest in %d, 99th percentile lowest in %d; mean no higher than where guests are moved in %d\n",
               tables, means, p99s, movers
}
