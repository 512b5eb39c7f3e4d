# shellcheck shell=bash disable=SC2034
# Four like nodes of two CPUs, as a two-socket machine with two nodes a socket shows them.
smp=8,sockets=4,cores=2
cpus=(0-1 2-3 4-5 6-7)
memory=(1536 1536 1536 1536)
distances=(
	"10 16 22 32"
	"16 10 32 22"
	"22 32 10 16"
	"32 22 16 10"
)
