#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# initrd.sh KERNEL-FOLDER OUT [INIT]: an initial root file system (1.5 MB): busybox, INIT (the one beside this script), and
# the modules that reach the shared root and a disk, and those of $OOMW_VM_MODULES, as far as the kernel has not got them
# built in.
set -euo pipefail

folder=${1:?usage: initrd.sh KERNEL-FOLDER OUT [INIT]} out=${2:?out}
here=$(cd "$(dirname "$0")" && pwd)
init=${3:-$here/init}
read -ra more <<<"${OOMW_VM_MODULES-}"
wanted=(virtio_pci virtio_blk virtiofs overlay ext4 qemu_fw_cfg "${more[@]}")
root=$(mktemp -d "${TMPDIR:-/tmp}/oomw-initrd.XXXXXX")
trap 'rm -rf "$root"' EXIT
added=" " count=10

unpacked() { # the module in file $1, to standard output
  case $1 in
    *.xz) xz -dc "$1" ;;
    *.zst) zstd -qdc "$1" ;;
    *) cat "$1" ;;
  esac
}

# There is no modules.dep in a package: each module names what it needs.
add_module() {
  local name=$1 file needs
  [[ $added == *" $name "* ]] && return
  added+="$name "
  file=$(find "$folder/modules" -name "${name//_/[-_]}.ko*" -print -quit)
  [[ -n $file ]] || return 0
  unpacked "$file" >"$root/module"
  needs=$(tr '\0' '\n' <"$root/module" | sed -n 's/^depends=//p')
  mv "$root/module" "$root/modules/$name.ko"
  for name in ${needs//,/ }; do add_module "$name"; done
  mv "$root/modules/$(basename "${file%%.ko*}" | tr - _).ko" "$root/modules/$((count++))-$(basename "${file%%.ko*}").ko"
}

mkdir -p "$root"/{bin,modules,proc,sys,dev,lower,upper,root}
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$init" "$root/init"
for name in "${wanted[@]}"; do add_module "$name"; done
(cd "$root" && find . | cpio -o -H newc --quiet) | gzip -1 >"$out"
