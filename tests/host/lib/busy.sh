# shellcheck shell=bash
# Guests that are busy, without an operating system: a boot sector that touches memory, wakes the second vCPU, and has both run in
# circles for ever.

# busy_disk FILE MIB: makes it in the machine; memory is touched up to so many MiB.
#   cli; ds = 0; [0x8000] = "jmp $"; lgdt [0x7c80]; cr0.pe = 1; ds = 8: all memory within reach
#   for (edi = 1 MiB; edi < MIB; edi += 4096) [edi] = edi
#   local APIC: INIT to all others; a while later a start at 0x8000; jmp $
busy_disk() {
	local limit
	limit=$(printf '%08x' $(($2 << 20)))
	{
		printf '\xfa\x31\xc0\x8e\xd8\xc7\x06\x00\x80\xeb\xfe\x0f\x01\x16\x80\x7c\x0f\x20\xc0\x0c\x01\x0f\x22\xc0\xbb\x08\x00\x8e\xdb'
		printf '\x66\xbf\x00\x00\x10\x00\x67\x66\x89\x3f\x66\x81\xc7\x00\x10\x00\x00\x66\x81\xff'
		# shellcheck disable=SC2059
		printf "\\x${limit:6:2}\\x${limit:4:2}\\x${limit:2:2}\\x${limit:0:2}\\x72\\xec"
		printf '\x67\x66\xc7\x05\x00\x03\xe0\xfe\x00\x45\x0c\x00\x66\xb9\x00\x00\x40\x00\x67\xe2\xfd'
		printf '\x67\x66\xc7\x05\x00\x03\xe0\xfe\x08\x46\x0c\x00\xeb\xfe'
		head -c 38 /dev/zero
		printf '\x0f\x00\x90\x7c\x00\x00' # the table's size and place
		head -c 18 /dev/zero
		printf '\xff\xff\x00\x00\x00\x92\xcf\x00' # data, all of it
		head -c 350 /dev/zero
		printf '\x55\xaa'
		head -c 1048064 /dev/zero
	} | remote "cat >$1"
}

# busy_device FILE: for guest_xml's devices=
busy_device() {
	echo "<disk type='file' device='disk'><driver type='raw'/><source file='$1'/><target dev='vda' bus='virtio'/><readonly/></disk>"
}

# busy_cpus NAME: in hundredths, what it uses and waits for, as the daemon publishes it; 0: not measured.
busy_cpus() {
	local uuid
	uuid=$(vm "virsh domuuid $(printf %q "$1")")
	vm 'cat /run/homenode/guests.json' | tr '{' '\n' | grep "\"$uuid\"" |
		sed -n 's/.*"run_cpus":\([0-9.]*\).*"wait_cpus":\([0-9.]*\).*/\1 \2/p' | awk '{ n = int(($1 + $2) * 100) } END { print n + 0 }'
}
