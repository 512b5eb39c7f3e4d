# shellcheck shell=bash
# The disk image of a suite: made from packages with mmdebstrap, kept by what went into it.

ssh_key=$cache/ssh/id_ed25519

ensure_ssh_key() {
	[ ! -f "$ssh_key" ] || return 0
	local new
	mkdir -p "$cache/ssh"
	new=$(mktemp -d "$cache/ssh/new.XXXXXX")
	ssh-keygen -q -t ed25519 -N '' -C homenode-test -f "$new/key"
	mv "$new/key.pub" "$ssh_key.pub"
	mv "$new/key" "$ssh_key"
	rmdir "$new"
}

# image_dir SUITE: where the image lies that fits the scripts as they are now. Of this file only
# the functions that make it count, and not their comments: a build takes minutes.
image_dir() {
	local suite=$1
	ensure_ssh_key
	printf '%s/images/%s-%s' "$cache" "$suite" "$(
		{
			declare -f image_root image_disk
			cat "$host_dir/image"/{customise,guest-init,packages} \
				"$host_dir/image/packages.$suite" "$ssh_key.pub"
		} | digest
	)"
}

image_root() {
	local suite=$1 root=$2
	limit 900 mmdebstrap --mode=root --variant=minbase \
		--include="$(package_list "$host_dir/image/packages" "$host_dir/image/packages.$suite")" \
		--customize-hook="'$host_dir/image/customise' \"\$1\" '$ssh_key.pub'" \
		"$suite" "$root"
}

image_disk() {
	local root=$1 dir=$2
	cp "$root"/boot/vmlinuz-* "$dir/vmlinuz"
	cp "$root"/boot/initrd.img-* "$dir/initrd"
	truncate -s 6G "$dir/disk.raw"
	limit 300 mke2fs -q -t ext4 -d "$root" "$dir/disk.raw"
	limit 300 qemu-img convert -f raw -O qcow2 "$dir/disk.raw" "$dir/disk.qcow2"
	rm "$dir/disk.raw"
}

# Images of this suite that no longer fit are of use to nobody but a machine that still runs.
image_prune() {
	local suite=$1 keep=$2 dir
	for dir in "$cache/images/$suite"-*; do
		if [ "$dir" != "$keep" ] && ! grep -qsxF "$dir" "$cache"/machines/*/image; then
			rm -rf "$dir"
		fi
	done
}

# build_image SUITE: everything happens in a directory beside, renamed when it is whole, so an
# interrupted build is never taken for an image.
build_image() {
	local suite=$1 dir new release
	release=$(debian_release "$suite")
	dir=$(image_dir "$suite")
	[ ! -d "$dir" ] || return 0
	[ "$EUID" -eq 0 ] || die "building an image needs root"
	lock "image-$suite" 1200
	if [ ! -d "$dir" ]; then
		new=$cache/images/new-$suite
		rm -rf "$new"
		mkdir -p "$new"
		step "building Debian $release root file system" image_root "$suite" "$new/root"
		step "making Debian $release disk image" image_disk "$new/root" "$new"
		rm -rf "$new/root"
		mv "$new" "$dir"
		image_prune "$suite" "$dir"
	fi
	unlock "image-$suite"
}
