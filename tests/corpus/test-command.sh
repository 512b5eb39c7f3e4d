#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Drives the built command: exit codes, messages, what goes to which stream, and the XML that comes out.
# What `plan --json` holds is looked at by test-plan-json.c.
set -u

homenode=$HOMENODE_COMMAND
fixtures=$HOMENODE_FIXTURES
host='node:4(memory=4GB) core:4 pu:1'

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
# an empty root: neither this machine's configuration nor its guests matter
HOMENODE_ROOT=$work/root
export HOMENODE_ROOT
mkdir "$HOMENODE_ROOT"

failures=0
fail() {
        echo "FAIL: $*"
        sed 's/^/  stderr: /' "$work/err"
        failures=$((failures + 1))
}

# run EXPECTED-EXIT ARGUMENT...: runs the command, keeps $work/out and $work/err
run() {
        expected=$1
        shift
        "$homenode" "$@" >"$work/out" 2>"$work/err"
        got=$?
        [ "$got" -eq "$expected" ] || fail "homenode $*: exit $got, not $expected"
}
says() {
        grep -q -F -e "$1" "$work/err" || fail "nothing on stderr about '$1'"
}
prints() {
        grep -q -F -e "$1" "$work/out" || fail "nothing on stdout about '$1'"
}
silent() {
        [ ! -s "$work/err" ] || fail "stderr is not empty: $1"
}
no_output() {
        [ ! -s "$work/out" ] || fail "stdout is not empty: $1"
}
same_bytes() {
        cmp -s "$1" "$2" || fail "$2 is not byte by byte $1"
}
same_meaning() {
        xmllint --c14n "$1" >"$work/a" 2>/dev/null && xmllint --c14n "$2" >"$work/b" 2>/dev/null &&
                cmp -s "$work/a" "$work/b" || fail "$2 does not mean what $1 means"
}

usage() {
        run 0 --version
        prints homenode
        run 0 --help
        prints explain
        for subcommand in plan rewrite explain status top simulate undo doctor; do
                run 0 $subcommand --help
                prints "Usage: homenode $subcommand"
                silent "$subcommand --help"
                run 2 $subcommand --unheard-of
                says --unheard-of
                says "homenode $subcommand --help"
                no_output "$subcommand --unheard-of"
        done
        run 2
        run 2 frobnicate
        says frobnicate
        run 2 --unheard-of
        run 2 plan
        run 2 plan --host
        run 2 plan --json=yes "$fixtures/small.xml"
        run 2 explain
        run 2 explain one two
        run 2 undo
        run 2 undo --all web
        run 2 rewrite "$fixtures/small.xml"
        run 2 simulate
        run 2 simulate --hosts 0 trace.csv
        run 2 simulate --busy 101 trace.csv
        run 2 simulate --policy homenode,nobody trace.csv
        says nobody
        run 2 rewrite --op start
        says start
        run 2 rewrite --undo --definition
        run 2 rewrite --undo --op prepare
}

plan_for_people() {
        run 0 plan --host "$host" "$fixtures/small.xml" "$fixtures/wider-than-a-node.xml" "$fixtures/opted-out.xml"
        silent "plan"
        prints DOMAIN
        prints "small "
        prints "1 GiB"
        prints "  cell 1"
        prints "opted-out"
        grep -q ' $' "$work/out" && fail "blanks at the end of a line"
        run 0 plan --host "$host" "$fixtures/terminal-name.xml"
        prints 'csi-\x9b31m'
        run 0 plan --host "$host" "$fixtures/mistaken-wish.xml"
        says mistaken-wish.xml
        says maybe
        prints "passed over"
        run 0 plan --host "$host" "$fixtures/spanning-forbidden.xml"
        prints refused
        run 0 plan --host "$host" - <"$fixtures/small.xml"
        prints small
}

plan_with_bad_inputs() {
        for bad in cut-short with-doctype network zero-vcpus empty not-there; do
                run 1 plan --host "$host" "$fixtures/$bad.xml" "$fixtures/small.xml"
                says "$bad.xml"
                prints small
                [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$bad.xml: not one line on stderr"
                [ -e "$fixtures/$bad.xml" ] || continue
                run 1 rewrite --host "$host" <"$fixtures/$bad.xml"
                no_output "rewrite of $bad.xml"
        done
        run 1 plan --host "$host" "$fixtures" # a folder
        says "$fixtures"
        run 1 plan --host "$host" "$fixtures/network.xml"
        no_output "no domain to plan"
        head -c 9000000 /dev/zero >"$work/large"
        run 1 plan --host "$host" "$work/large"
        says large
        run 1 plan --host "$host" "$fixtures/with-doctype.xml" "$fixtures/cut-short.xml" "$fixtures/empty.xml"
        says 'with-doctype.xml: has a document type'
        says 'cut-short.xml: not well-formed XML'
        says 'empty.xml: is empty'
        printf '%s\n' '<?xml version="1.0"?>' '<!DOCTYPE topology SYSTEM "hwloc2.dtd">' '<topology/>' >"$work/topology"
        run 1 plan --host "$host" "$work/topology"
        says "topology: a host's topology, not a domain's XML: it goes to --host"
        echo '<topology/>' >"$work/topology"
        run 1 plan --host "$host" "$work/topology"
        says "topology: a host's topology, not a domain's XML: it goes to --host"
        run 1 plan --host "$host" web
        says 'virsh dumpxml --inactive web | homenode plan -'
        run 1 plan --host "$host" "$work/bad
name"
        says 'bad\x0aname'
}

bad_surroundings() {
        run 1 plan --host "$work/no-such-topology.xml" "$fixtures/small.xml"
        says no-such-topology.xml
        run 1 plan --host "$fixtures/small.xml" "$fixtures/small.xml"
        says "small.xml: a domain's XML, not a host's topology"
        run 1 plan --host 'two nodes' "$fixtures/small.xml"
        says 'two nodes: is neither a topology exported by lstopo nor a synthetic description'
        run 1 plan --host "$host" --state "$work/no-such-state" "$fixtures/small.xml"
        says no-such-state
        echo '{' >"$work/bad-state"
        run 1 plan --host "$host" --state "$work/bad-state" "$fixtures/small.xml"
        says bad-state
        : >"$work/file"
        run 1 plan --host "$host" --ledger "$work/file" "$fixtures/small.xml"
        says "$work/file"
        run 1 rewrite --host "$work/no-such-topology.xml" <"$fixtures/small.xml"
        no_output "rewrite for an unknown host"
        run 0 plan --host "$host" --ledger "$work/no-such-ledger" "$fixtures/small.xml"
        says no-such-ledger
        run 1 explain --ledger "$work/no-such-ledger" web
        says no-such-ledger
        [ ! -e "$work/no-such-ledger" ] || fail "looking made a folder"
        run 1 explain --ledger "$work/file" web
        says "$work/file"
        mkdir "$work/ledger"
        run 1 explain --ledger "$work/ledger" web
        says 'web: has not been started in this boot, or is unknown'
        no_output "nothing to explain"
        run 1 explain --json --ledger "$work/ledger" web
        says 'web: has not been started in this boot, or is unknown'
        prints '{'
        run 0 plan --host "$host" --ledger "$work/ledger" "$fixtures/small.xml"
}

rewrite_leaves_alone() {
        for left in opted-out container; do
                for how in '--op prepare' '--op restore' '--op migrate' --definition --undo; do
                        # shellcheck disable=SC2086
                        run 0 rewrite --host "$host" $how <"$fixtures/$left.xml"
                        same_bytes "$fixtures/$left.xml" "$work/out"
                        silent "rewrite $how of $left.xml"
                done
        done
        run 0 rewrite --host "$host" <"$fixtures/too-large.xml" # room for none
        same_bytes "$fixtures/too-large.xml" "$work/out"
        run 0 rewrite --undo <"$fixtures/odd-but-legal.xml"
        same_bytes "$fixtures/odd-but-legal.xml" "$work/out"
}

rewrite_refuses() {
        for refused in spanning-forbidden node-not-there; do
                run 1 rewrite --host "$host" <"$fixtures/$refused.xml"
                says "$refused"
                no_output "rewrite of $refused.xml"
        done
}

rewrite_and_undo() {
        for name in small node-size wider-than-a-node user-pins odd-but-legal mistaken-wish; do
                for how in '--op prepare' '--op restore' --definition; do
                        # shellcheck disable=SC2086
                        run 0 rewrite --host "$host" $how <"$fixtures/$name.xml"
                        cp "$work/out" "$work/once.xml"
                        xmllint --noout "$work/once.xml" 2>/dev/null || fail "$how of $name.xml is not well-formed"
                        # shellcheck disable=SC2086
                        run 0 rewrite --host "$host" $how <"$work/once.xml"
                        same_bytes "$work/once.xml" "$work/out"
                        run 0 rewrite --undo <"$work/once.xml"
                        same_meaning "$fixtures/$name.xml" "$work/out"
                done
        done
        run 0 rewrite --host "$host" <"$fixtures/small.xml"
        grep -q "nodeset=[\"']0[\"']" "$work/out" || fail "small.xml is on no node"
}

# who reads no further knows: no complaint, but no success either
closed_pipe() {
        (
                sleep 0.3
                "$homenode" plan --help 2>"$work/err"
                echo $? >"$work/code"
        ) | true
        [ "$(cat "$work/code")" -eq 1 ] || fail "a closed pipe went unnoticed"
        silent "a closed pipe"
}

full_disk() {
        "$homenode" "$@" <"$fixtures/small.xml" >/dev/full 2>"$work/err"
        [ $? -eq 1 ] || fail "$*: a full disk went unnoticed"
        says "standard output"
}

output_that_fails() {
        if [ -w /dev/full ]; then
                full_disk --help
                full_disk --version
                full_disk plan --help
                full_disk plan --host "$host" -
                full_disk plan --json --host "$host" -
                full_disk rewrite --host "$host"
        fi
        mkfifo "$work/pipe"
        # the reader is gone before the first byte: the command waits for standard input until then
        { exec 3<"$work/pipe"; exec 3<&-; : >"$work/gone"; } &
        {
                while [ ! -e "$work/gone" ]; do sleep 0.1; done
                cat "$fixtures/small.xml"
        } | {
                "$homenode" rewrite --host "$host" >"$work/pipe" 2>"$work/err"
                echo $? >"$work/exit"
        }
        [ "$(cat "$work/exit")" -eq 1 ] || fail "a broken pipe went unnoticed: exit $(cat "$work/exit")"
        wait
}

# put_entry FOLDER BOOT-ID NAME: a guest of 3 GiB and 4 vCPUs that was placed on node 0
put_entry() {
        cat >"$1/22222222-0000-4000-8000-000000000001.json" <<END
{ "version": 1, "state": "started", "boot_id": "$2", "written_us": 1, "domain_id": 7, "pid": 4711,
  "unit": "machine-qemu\\\\x2d7\\\\x2dweb.scope", "reason": "on node 0: fits one node", "managed": true, "kept": false,
  "placement": { "uuid": "22222222-0000-4000-8000-000000000001", "name": "$3", "priority": "high",
    "cells": [ { "id": 0, "vcpus": "0-3", "memory_kib": 3145728, "nodes": "0", "cpus": "0-3" } ],
    "vcpu_cpus": [ { "vcpu": 2, "cpus": "1" } ], "emulator_cpus": "0-3", "home": "0", "memory_nodes": "0",
    "promises": [ { "node": 0, "memory_kib": 3194880, "page_kib": 0, "vcpus_milli": 4000 } ] } }
END
}

explain_from_a_ledger() {
        copy=$work/copy
        boot=33333333-0000-4000-8000-000000000001
        uuid=22222222-0000-4000-8000-000000000001
        mkdir -p "$copy/ledger" "$copy/explain"
        put_entry "$copy/ledger" $boot web

        # without its explanation, from another boot
        run 0 explain --ledger "$copy" web
        silent "explain"
        for what in web $uuid started 4711 'machine-qemu\x2d7\x2dweb.scope' high 'fits one node' '3 GiB' ordinary; do
                prints "$what"
        done
        grep -q Decided "$work/out" && fail "a time of another boot was told"
        grep -q SCORE "$work/out" && fail "a score from nowhere"

        cat >"$copy/explain/$uuid.json" <<END
{ "name": "web", "reason": "of long ago", "cells": [],
  "score": { "remote": 0, "cpu": 0.25, "total": 0.25 },
  "runner_up": { "nodes": "1-2", "score": { "remote": 0.5, "cpu": 0, "total": 0.5 } } }
END
        run 0 explain --ledger "$copy" "$(echo $uuid | tr a-f A-F)"
        prints "NODES 1-2"
        grep -q '^cpu  *0.2500  *0.0000$' "$work/out" || fail "no line of the cpu term"
        grep -q '^total  *0.2500  *0.5000$' "$work/out" || fail "no line of the total"
        grep -q 'of long ago' "$work/out" && fail "the old explanation outdid the entry"
        run 0 explain --ledger "$copy" --json web
        prints '"runner_up"'
        prints '"pid": 4711'

        # what is in there counts for a plan, but not for the domain itself
        cp "$fixtures/node-size.xml" "$work/other.xml"
        run 0 plan --host "$host" --ledger "$copy" "$work/other.xml"
        grep -q 'on node 0' "$work/out" && fail "planned on top of what the ledger holds"
        sed "s/<uuid>.*</<uuid>$uuid</" "$fixtures/node-size.xml" >"$work/itself.xml"
        run 0 plan --host "$host" --ledger "$copy" "$work/itself.xml"
        prints 'on node 0'
        sed "/<uuid>/d; s/>node-size</>web</" "$fixtures/node-size.xml" >"$work/itself.xml"
        run 0 plan --host "$host" --ledger "$copy" "$work/itself.xml"
        prints 'on node 0'

        # damaged ones are no reason to fail
        for damage in '' '{' '[]' '{"score": [], "runner_up": 1}' '{"score": {"cpu": "x"}, "runner_up": {"nodes": 1}}'; do
                echo "$damage" >"$copy/explain/$uuid.json"
                run 0 explain --ledger "$copy" web
        done
        run 1 explain --ledger "$copy" nobody
        says nobody
}

explain_on_this_host() {
        boot=33333333-0000-4000-8000-000000000002
        mkdir -p "$HOMENODE_ROOT/run/homenode/ledger" "$HOMENODE_ROOT/proc/sys/kernel/random" "$HOMENODE_ROOT/proc/4711"
        echo $boot >"$HOMENODE_ROOT/proc/sys/kernel/random/boot_id"
        echo "4711 (qemu) S $(seq -s ' ' 4 52)" >"$HOMENODE_ROOT/proc/4711/stat"
        put_entry "$HOMENODE_ROOT/run/homenode/ledger" $boot web
        run 0 explain web
        prints Decided
        run 0 explain --json web
        prints '"decided"'
        # of a guest that is gone, libvirt is asked
        rm -r "$HOMENODE_ROOT/proc/4711"
        HOMENODE_URI=test:///no/such/file
        export HOMENODE_URI
        run 1 explain web
        says libvirt
        unset HOMENODE_URI
        rm -r "$HOMENODE_ROOT/run" "$HOMENODE_ROOT/proc"
}

# As an ordinary user: a plan goes on without the ledger, an explanation can't
closed_ledger() {
        [ "$(id -u)" -ne 0 ] || return 0
        mkdir -p "$HOMENODE_ROOT/run/homenode"
        chmod 0 "$HOMENODE_ROOT/run/homenode"
        run 1 explain web
        says "needs root"
        run 1 status web
        says "it may run"
        chmod 700 "$HOMENODE_ROOT/run/homenode"
}

# a guest of 2 GiB that runs on node 0, a quarter of it on node 1
put_running() {
        boot_id=33333333-0000-4000-8000-000000000003
        scope="$HOMENODE_ROOT/sys/fs/cgroup/machine.slice/machine-qemu\\x2d7\\x2dweb.scope"
        mkdir -p "$scope" "$HOMENODE_ROOT/proc/4711" "$HOMENODE_ROOT/run/homenode/ledger" \
                "$HOMENODE_ROOT/proc/sys/kernel/random"
        echo "$boot_id" >"$HOMENODE_ROOT/proc/sys/kernel/random/boot_id"
        echo '4711 (qemu) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 99 0 0' >"$HOMENODE_ROOT/proc/4711/stat"
        echo 'anon N0=1610612736 N1=536870912' >"$scope/memory.numa_stat"
        put_entry "$HOMENODE_ROOT/run/homenode/ledger" "$boot_id" "$1"
}

status_of_a_tree() {
        run 1 status # an empty tree
        says nodes
        put_running "$(printf 'web\\u001b[31m')"
        run 1 status # no nodes in there, but a guest
        prints '0:1536 1:512'
        prints '75.0%'
        prints 'web\x1b[31m'
        prints 'on node 0: fits one node'
        run 1 status 22222222-0000-4000-8000-000000000001
        prints CELL
        prints 'vCPU 2'
        prints homenode
        run 1 status --json nobody
        says nobody
        run 1 status --json
        prints '"locality_percent": 75'
        rm -rf "$HOMENODE_ROOT/sys" "$HOMENODE_ROOT/proc" "$HOMENODE_ROOT/run"
}

# put_vcpu NUMBER CPU-US: a thread group of that guest
put_vcpu() {
        mkdir -p "$scope/libvirt/emulator" "$scope/libvirt/vcpu$1" "$HOMENODE_ROOT/proc/500$1"
        echo "usage_usec $2" >"$scope/libvirt/vcpu$1/cpu.stat"
        echo "500$1" >"$scope/libvirt/vcpu$1/cgroup.threads"
        echo '1000 2000 3' >"$HOMENODE_ROOT/proc/500$1/schedstat"
}

top_of_a_tree() {
        run 2 top now
        says operands
        run 2 top --sort beauty
        says beauty
        for seconds in 0 -1 0.05 1e9 nan inf 2s ''; do
                run 2 top -b -d "$seconds"
                says seconds
                no_output "top -d $seconds"
        done
        for number in 0 -1 1.5 99999999999999999999 x ''; do
                run 2 top -b -n "$number"
                says readings
        done
        run 1 top -d 0.1 # an empty tree: what is missing is said, and one page is all
        prints "this host's nodes can't be read"
        prints 'GUEST  STATE'
        put_running "$(printf 'web\\u001b[31m')"
        put_vcpu 0 1000
        put_vcpu 1 1000
        run 1 top -d 0.1
        grep -q '^web\\x1b\[31m  placed      high       2     0.0    0.0  .*  0        0     512    1536   75.0$' "$work/out" ||
                fail "the line of the guest is not as it should be"
        prints 'homenoded does not run'
        run 1 top -bd0.1 -n3 --sort remote
        [ "$(grep -c '^GUEST' "$work/out")" -eq 3 ] || fail "not three pages"
        prints 'by NRMEM'
        run 1 top -d 0.1 --json
        for what in '"locality_percent": 75.0' '"remote_kib": 524288' '"vcpus": 2' '"used_percent": 0.0' '"home": "0"' \
                '"moves": 0' '"state": "placed"'; do
                prints "$what"
        done
        [ "$(grep -c '^}' "$work/out")" -eq 1 ] || fail "not one document"
        run 1 top -d 0.1 -n 2 --json --sort guest
        [ "$(grep -c '^}' "$work/out")" -eq 2 ] || fail "not two documents"
        rm -rf "$HOMENODE_ROOT/sys" "$HOMENODE_ROOT/proc" "$HOMENODE_ROOT/run"
}

doctor_of_a_tree() {
        run 1 doctor
        silent "doctor"
        prints 'problem  hook'
        prints 'means: '
        prints 'mend:  make install'
        run 1 doctor --json
        prints '"level": "problem"'
        run 2 doctor now
        says operands
}

# libvirt's driver for tests lives in the process: what it was told is gone with it.  It has one guest, "test", of a
# type that homenode has no business with.
undo_with_libvirt() {
        HOMENODE_URI=test:///default
        export HOMENODE_URI
        run 0 undo test
        silent "undo"
        prints 'nothing to undo'
        run 0 undo 1 --json # its id
        prints '"running": "absent"'
        prints '"definition": "nothing"'
        run 1 undo nobody test
        says 'nobody: no such domain'
        prints test
        # what is left of guests that are gone
        dropin=$HOMENODE_ROOT/run/systemd/system/'machine-qemu\x2d7\x2dweb.scope.d'
        mkdir -p "$dropin" "$HOMENODE_ROOT/var/lib/homenode/definitions"
        echo '[Scope]' >"$dropin/50-homenode.conf"
        echo '<domain/>' >"$HOMENODE_ROOT/var/lib/homenode/definitions/22222222-0000-4000-8000-000000000001.xml"
        run 0 undo --all
        prints '1 drop-in, 0 records, 1 copy'
        [ ! -e "$dropin" ] || fail "the drop-in is there still"
        run 0 undo --all --json
        prints '"drop_ins": 0'
        rm -rf "$HOMENODE_ROOT/run" "$HOMENODE_ROOT/var"
        unset HOMENODE_URI
}

undo_without_libvirt() {
        HOMENODE_URI=test:///no/such/file
        export HOMENODE_URI
        run 1 undo --all
        says "libvirt can't be reached"
        run 1 undo --json web
        says 'web: no such domain runs'
        prints libvirt_fault
        rm -rf "$HOMENODE_ROOT/run"
        unset HOMENODE_URI
}

# two guests with a node each, then a third in what is left of both
simulate() {
        form=id,group,arrive_s,lifetime_s,lifetime_hi_s,censored,vcpus,mem_mib,vnuma,note
        printf '%s\n' $form 0,,,,,,4,3000,, 1,,,,,,4,3000,, 2,,,,,,4,1200,, >"$work/fill.csv"
        printf '%s\n' $form 0,,0,60,,,4,1024,, 1,,30,60,,,4,1024,, >"$work/times.csv"
        run 0 simulate --host 'node:2(memory=4GB) core:4 pu:1' --exact "$work/fill.csv"
        silent simulate
        prints "$work/fill.csv"
        prints "to the first refusal"
        prints "to the end"
        prints homenode
        prints libvirt
        grep -q ' $' "$work/out" && fail "blanks at the end of a line"
        run 0 simulate --host 'node:1(memory=4GB) core:4 pu:1' --policy homenode --json - <"$work/times.csv"
        # one is alone for half its life, as is the other
        prints '"mean_slowdown": 1.5'
        prints '"placed": 2'
        grep -q libvirt "$work/out" && fail "a policy that was not asked for"
        printf '%s\n1,2\n' $form >"$work/odd.csv"
        run 1 simulate --host "$host" "$work/odd.csv"
        says "line 2"
        run 1 simulate --host "$host" "$work/none.csv"
        says none.csv
}

undo_as_a_user() {
        [ "$(id -u)" -ne 0 ] || return 0
        (unset HOMENODE_ROOT && run 1 undo --all && says "needs root" && [ "$failures" -eq 0 ]) || fail "undo as a user"
}

usage
undo_with_libvirt
undo_without_libvirt
undo_as_a_user
doctor_of_a_tree
explain_from_a_ledger
status_of_a_tree
top_of_a_tree
explain_on_this_host
closed_ledger
closed_pipe
plan_for_people
plan_with_bad_inputs
simulate
bad_surroundings
rewrite_leaves_alone
rewrite_refuses
rewrite_and_undo
output_that_fails
[ "$failures" -eq 0 ]
