# shellcheck shell=bash
# homenode's programs for a suite, compiled natively in a root file system of that release. The
# tree stays in the cache, so that after a small change only what depends on it is compiled.

build_root_dir() {
	printf '%s/build-roots/%s-%s' "$cache" "$1" "$(
		{
			declare -f make_build_root
			cat "$host_dir/image/build-packages"
		} | digest
	)"
}

make_build_root() {
	limit 900 mmdebstrap --mode=root --variant=minbase \
		--include="$(package_list "$host_dir/image/build-packages")" "$1" "$2"
	mkdir "$2/tree"
}

ensure_build_root() {
	local suite=$1 root new
	root=$(build_root_dir "$suite")
	[ ! -d "$root" ] || return 0
	[ "$EUID" -eq 0 ] || die "building homenode for another release needs root"
	new=$cache/build-roots/new-$suite
	rm -rf "$new"
	mkdir -p "$cache/build-roots"
	step "building Debian $(debian_release "$suite") build root" make_build_root "$suite" "$new"
	rm -rf "$cache/build-roots/$suite"-*
	mv "$new" "$root"
}

# source_files DIR: what belongs to the source, one name a line: in a checkout what git knows
# (a file that was never added must not make a build pass), else everything.
source_files() {
	if [ -e "$1/.git" ]; then
		git -C "$1" -c core.quotePath=off ls-files
	else
		(cd "$1" && find . -type f -printf '%P\n')
	fi
}

# sync_sources FROM TO: changed contents only, with the time of now, so that make notices them
# and nothing else. Says "afresh" where make alone would go wrong: a file is gone, or the build
# description has changed.
sync_sources() {
	local from=$1 to=$2 file afresh=false
	source_files "$from" | while IFS= read -r file; do
		[ ! -f "$from/$file" ] || printf '%s\n' "$file"
	done | sort >"$to.files.new"
	[ -f "$to.files" ] || : >"$to.files"
	while IFS= read -r file; do
		rm -f "$to/$file"
		afresh=true
	done < <(comm -23 "$to.files" "$to.files.new")
	while IFS= read -r file; do
		! cmp -s "$from/$file" "$to/$file" || continue
		case $file in
		configure.ac | *.am | m4/*) afresh=true ;;
		esac
		mkdir -p "$(dirname "$to/$file")"
		cp --preserve=mode "$from/$file" "$to/$file"
	done <"$to.files.new"
	mv "$to.files.new" "$to.files"
	! $afresh || echo afresh
}

# in_build_root ROOT TREE SCRIPT: with mounts that vanish with the processes.
in_build_root() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	limit 600 unshare --mount --pid --fork --kill-child bash -euc '
		mount --bind "$1" "$0/tree"
		mount -t proc proc "$0/proc"
		mount --bind /dev "$0/dev"
		exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
			HOME=/tree bash -euc "$2"
	' "$1" "$2" "$3"
}

compile() {
	in_build_root "$1" "$2" '
		cd /tree
		if [ ! -f build/Makefile ]; then
			(cd source && autoreconf -fi)
			mkdir -p build
			(cd build && ../source/configure -q --prefix=/usr --sysconfdir=/etc \
				--localstatedir=/var)
		fi
		make -s -C build -j2
		rm -rf install
		make -s -C build install DESTDIR=/tree/install
		# Owned by root whoever owns the checkout.
		tar --owner=0 --group=0 -C install -cf homenode.tar.new .
		mv homenode.tar.new homenode.tar
	'
}

# programs SUITE SOURCE: builds and says where the archive is.
programs() {
	local suite=$1 source=$2 release tree
	release=$(debian_release "$suite")
	tree=$cache/programs/$suite
	lock "programs-$suite" 1200
	ensure_build_root "$suite"
	mkdir -p "$tree/source"
	if [ -n "$(sync_sources "$source" "$tree/source")" ]; then
		rm -rf "$tree/build"
	fi
	step "compiling homenode for Debian $release" compile "$(build_root_dir "$suite")" "$tree"
	unlock "programs-$suite"
	echo "$tree/homenode.tar"
}

# unit_tests SUITE SOURCE [DATA]: `make check` with that release's libraries, of which each has its own faults.
unit_tests() {
	local suite=$1 source=$2 data=${3-} tree=$cache/programs/$1
	programs "$suite" "$source" >/dev/null
	lock "programs-$suite" 1200
	rm -rf "$tree/data"
	[ -z "$data" ] || cp -r "$data" "$tree/data"
	in_build_root "$(build_root_dir "$suite")" "$tree" '
		cd /tree
		make -s -C build -j2 check HOMENODE_DATA=/tree/data >check.log 2>&1 || {
			cat build/test-suite.log
			exit 1
		}
		grep -E "^# (TOTAL|PASS|SKIP|FAIL|ERROR):" check.log | xargs
	'
	unlock "programs-$suite"
}
