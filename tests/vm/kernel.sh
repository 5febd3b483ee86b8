#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel.sh KERNEL (5.10 | 6.1 | 6.12 | newest): prints a folder with that Debian cloud kernel, its
# newest build at the first call: vmlinuz, modules/, release. Exits 3 with the reason on stderr.
#
# Unpacked below ${OOMW_CACHE:-~/.cache/oomwitness}/vm with an apt state of its own: the system's
# package lists and packages are never touched. The mirror is the one the system already uses.
set -euo pipefail

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
state=$cache/apt-$suite

give_up() {
  echo "kernel $kernel: not cached, and $1" >&2
  exit 3
}

apt_private() { # an apt that keeps everything below $state
  "$@" -q -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20
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
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  give_up "apt-get or dpkg is missing"
fi
# shellcheck disable=SC2016 # the format is apt's to expand
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | sort -u | head -1)
[[ -n $mirror ]] || give_up "the system's apt knows no mirror"

mkdir -p "$state"/lists/partial "$state"/cache/archives/partial
exec 9>"$cache/.lock"
flock -w 300 9 || give_up "another download holds the lock"
[[ -s $target/release ]] && echo "$target" && exit 0

work=$(mktemp -d "$cache/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "deb $mirror $suite main" >"$state/sources.list"
apt_private apt-get update >"$state/log" 2>&1 || give_up "suite $suite cannot be read (log: $state/log)"
image=$(apt_private apt-cache show "$meta" | sed -n '/^Depends:/s/.*\(linux-image-[0-9][^ ,]*\).*/\1/p' | head -1)
[[ -n $image ]] || give_up "suite $suite has no $meta"
read -ra packages <<<"$(packages_of "$image")"
(cd "$work" && apt_private apt-get download "${packages[@]}" >>"$state/log" 2>&1) ||
  give_up "no mirror gives ${packages[*]} (log: $state/log)"
unpack_into "$target" || give_up "${packages[*]} hold no kernel"
echo "$target"
