#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel.sh KERNEL (5.10 | 6.1 | 6.12 | newest): prints a folder with that Debian cloud kernel, its
# newest build at the first call: vmlinuz, modules/, release. Exits 3 with the reason on stderr.
#
# Unpacked below ${OOMW_CACHE:-~/.cache/oomwitness}/vm.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../support/private_apt.sh
source "$(dirname "$0")/../support/private_apt.sh"

kernel=${1:?usage: kernel.sh KERNEL}
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/vm
target=$cache/$kernel
meta=linux-image-cloud-amd64
case $kernel in
  5.10) suite=bullseye ;;
  6.1) suite=bookworm ;;
  6.12) suite=trixie ;;
  newest) suite=sid ;;
  *) echo "kernel.sh: unknown kernel $kernel" >&2 && exit 2 ;;
esac

give_up() {
  echo "kernel $kernel: $1" >&2
  exit 3
}

# Of the packages that newer Debians split a kernel into, those with files; else the image itself.
packages_of() { # linux-image-RELEASE
  local release=${1#linux-image-}
  if apt_private apt-cache show "linux-binary-$release" >/dev/null 2>&1; then
    echo "linux-binary-$release linux-modules-$release"
  else
    echo "$1"
  fi
}

unpack_into() { # $1: the folder to be; in $work: what was downloaded
  local release modules
  for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/tree"; done
  modules=$(echo "$work"/tree/usr/lib/modules/* "$work"/tree/lib/modules/*)
  for modules in $modules; do [[ -d $modules/kernel ]] && break; done
  release=$(basename "$modules")
  mkdir "$work/new"
  find "$work/tree" -name "vmlinuz*" -type f -exec cp {} "$work/new/vmlinuz" \;
  mv "$modules/kernel" "$work/new/modules"
  echo "$release" >"$work/new/release"
  [[ -s $work/new/vmlinuz ]] && mv "$work/new" "$1"
}

[[ -s $target/release ]] && echo "$target" && exit 0
find_mirror
take_lock "$cache" 300
[[ -s $target/release ]] && echo "$target" && exit 0

work=$(mktemp -d "$cache/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
use_suite "$suite" "$cache/apt-$suite" || give_up "not cached, and suite $suite cannot be read (log: $state/log)"
image=$(apt_private apt-cache show "$meta" | sed -n '/^Depends:/s/.*\(linux-image-[0-9][^ ,]*\).*/\1/p' | head -1)
[[ -n $image ]] || give_up "not cached, and suite $suite has no $meta"
read -ra packages <<<"$(packages_of "$image")"
download "$work" "${packages[@]}" || give_up "not cached, and no mirror gives ${packages[*]} (log: $state/log)"
unpack_into "$target" || give_up "${packages[*]} hold no kernel"
echo "$target"
