# shellcheck shell=bash
# Turns a layout file into QEMU arguments. A layout is a shell fragment that sets
#   smp        the CPUs, as for QEMU's -smp
#   cpus       per node: its CPUs, e.g. (0-1 2-3) or ("0 4" "1 5")
#   memory     per node: MiB, 0 for a node without memory
#   distances  per node: its row of the distance matrix, e.g. ("10 20" "20 10")
#   extra      further QEMU arguments (devices), may be left out

# layout_arguments FILE: sets the array "layout".
layout_arguments() {
	local smp cpus memory distances extra=() node other total=0 range row arguments=()
	# shellcheck disable=SC1090
	. "$1"
	for node in "${!cpus[@]}"; do
		row="node,nodeid=$node"
		for range in ${cpus[node]}; do row+=",cpus=$range"; done
		if [ "${memory[node]}" -gt 0 ]; then
			arguments+=(-object "memory-backend-ram,id=memory$node,size=${memory[node]}M")
			row+=",memdev=memory$node"
		fi
		arguments+=(-numa "$row")
		total=$((total + memory[node]))
	done
	for node in "${!distances[@]}"; do
		read -ra row <<<"${distances[node]}"
		for other in "${!row[@]}"; do
			arguments+=(-numa "dist,src=$node,dst=$other,val=${row[other]}")
		done
	done
	layout=(-smp "$smp" -m "${total}M" "${arguments[@]}" "${extra[@]}")
}
