#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# `homenode top` on a terminal that script(1) makes: keys do what they should, and the terminal is as it was on every way
# out.
set -u

command -v script >/dev/null && script -qefc true /dev/null </dev/null >/dev/null 2>&1 || {
        echo "skipped: no script(1) that takes -c"
        exit 77
}

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
HOMENODE_ROOT=$work/root
mkdir "$HOMENODE_ROOT"
export HOMENODE_ROOT work
mkfifo "$work/keys"

failures=0
fail() {
        echo "FAIL: $*"
        failures=$((failures + 1))
}

# what runs in the terminal: the settings before and after, and the exit status
cat >"$work/inside" <<'END'
ulimit -c 0
stty rows 24 cols 80
stty -g >"$work/before"
sh -c 'echo $$ >"$work/pid"; exec "$HOMENODE_COMMAND" top -d 0.2 "$@"' sh "$@"
echo $? >"$work/code"
stty -g >"$work/after"
END

# begin ARGUMENT...: starts it; keys go to descriptor 4
begin() {
        rm -f "$work/before" "$work/after" "$work/code" "$work/pid" "$work/log"
        script -qefc "TERM=${terminal:-xterm} sh $work/inside $*" "$work/log" <"$work/keys" >/dev/null 2>&1 &
        terminal_pid=$!
        exec 4>"$work/keys"
}

# shows TEXT: waits until it has been on the screen
shows() {
        for _ in $(seq 100); do
                grep -q -a -F -e "$1" "$work/log" 2>/dev/null && return
                sleep 0.1
        done
        fail "never shown: $1"
}

# ends EXIT: waits for the end
ends() {
        for _ in $(seq 100); do
                [ -e "$work/after" ] && break
                sleep 0.1
        done
        [ -e "$work/after" ] || {
                fail "it does not end"
                kill -9 "$(cat "$work/pid")"
        }
        exec 4>&-
        wait "$terminal_pid"
        [ "$(cat "$work/code")" = "$1" ] || fail "exit $(cat "$work/code"), not $1"
        cmp -s "$work/before" "$work/after" || fail "the terminal is not as it was"
        # left its own screen, the cursor is there again
        tail -c 200 "$work/log" | grep -q -a -F -e "$(printf '\033[?1049l')" || fail "the other screen was not left"
}

# an empty tree is an incomplete one: 1
echo "keys"
begin
shows 'homenode top'
shows 'by %USED'
# only what changes is drawn, so from the help and back
printf 'Lh' >&4
shows 'Any key goes back'
printf 'xr' >&4
shows ', reversed'
printf 'h' >&4
sleep 0.5
printf 'x>' >&4
shows GUEST
printf 'q' >&4
ends 1

echo "a number of readings"
begin -n 2
ends 1

echo "Ctrl-C"
begin
shows 'homenode top'
printf '\003' >&4
ends 1

for signal in 1 3 15; do
        echo "signal $signal"
        begin
        shows 'homenode top'
        kill -$signal "$(cat "$work/pid")"
        ends $((128 + signal))
done

echo "no colours"
NO_COLOR=1
export NO_COLOR
begin
shows 'homenode top'
printf 'q' >&4
ends 1
grep -q -a -e "$(printf '\033')\\[3[0-7]m" "$work/log" && fail "colours all the same"
unset NO_COLOR

# what can't go to a place on the screen gets one page
echo "a terminal that can do little"
terminal=dumb
begin
for _ in $(seq 100); do
        [ -e "$work/after" ] && break
        sleep 0.1
done
exec 4>&-
wait "$terminal_pid"
[ "$(cat "$work/code")" = 1 ] || fail "exit $(cat "$work/code")"
grep -q -a GUEST "$work/log" || fail "no page"

[ "$failures" -eq 0 ]
