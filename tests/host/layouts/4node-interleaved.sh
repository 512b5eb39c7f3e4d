# shellcheck shell=bash disable=SC2034
# CPU numbers dealt round the nodes, as much firmware does it: no node's CPUs are one range.
# One CPU a socket, since QEMU numbers the CPUs of one socket in a row.
smp=8,sockets=8,cores=1
cpus=("0 4" "1 5" "2 6" "3 7")
memory=(1536 1536 1536 1536)
distances=(
	"10 16 22 32"
	"16 10 32 22"
	"22 32 10 16"
	"32 22 16 10"
)
