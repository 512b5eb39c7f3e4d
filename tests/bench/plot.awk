# SPDX-License-Identifier: LGPL-2.1-or-later
# Tables of homenode simulate as bars: the mean slowdown, and a mark at the 99th percentile.  One panel per table.
function text(x, y, anchor, size, s) {
        gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s)
        body = body sprintf("<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor, size, s)
}
function scale(slowdown) { return 170 + (slowdown > 3 ? 2.1 : slowdown - 1) * 220 }
BEGIN { y = 24 }
NR == 1 { text(10, y, "start", 16, $0); y += 10; next }
/^POLICY/ {
        if (stage != "") { y += 24; text(10, y, "start", 13, stage) }
        stage = ""; y += 8
        next
}
/^[a-z0-9-]+ +[0-9.]+ +[0-9.]+ / {
        y += 18
        text(160, y, "end", 12, $1)
        body = body sprintf("<rect x=\"170\" y=\"%d\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n", y - 10, scale($2) - 170,
                            $1 == "homenode" ? "#1b6ca8" : "#9db4c0")
        body = body sprintf("<rect x=\"%.1f\" y=\"%d\" width=\"2\" height=\"14\" fill=\"#c0392b\"/>\n", scale($3), y - 11)
        note = $2
        if (match($0, /\([1-9][0-9]*\)/)) note = note ", refuses " substr($0, RSTART + 1, RLENGTH - 2) " with room"
        text(640, y, "start", 12, note)
        next
}
{ stage = $0 }
END {
        y += 20
        text(170, y, "start", 11, "1"); text(scale(2), y, "middle", 11, "2"); text(scale(3), y, "middle", 11, "3")
        text(10, y + 20, "start", 11, "bar: mean slowdown; red mark: 99th percentile (beyond 3: at the edge)")
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"%d\" font-family=\"sans-serif\">\n", y + 34
        printf "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n", body
}
