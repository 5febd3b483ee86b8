#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian_root.sh NAME PACKAGE...: prints the path of a folder with these packages of Debian 12 and all that they depend
# on, for programs that run in it by chroot; exits 3 with the reason on stderr where it cannot be had.
#
# Unpacked, never installed: no script of a package runs. Below ${OOMW_CACHE:-~/.cache/oomwitness}/roots, made once for a
# name, its packages and this script. apt checks the signatures as for any package.
set -euo pipefail

name=${1:?usage: debian_root.sh NAME PACKAGE...}
shift
# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$(dirname "$0")/private_apt.sh"
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/roots

give_up() {
  echo "$name: $1" >&2
  exit 3
}

key=$({ cat "$0" && echo "$@"; } | sha256sum | cut -c1-16)
target=$cache/$name-$key
[[ -d $target ]] && echo "$target" && exit 0
command -v mmdebstrap >/dev/null || give_up "not cached, and no mmdebstrap on this machine"
((EUID == 0)) || give_up "not cached, and not root"
find_mirror
take_lock "$cache" 900
[[ -d $target ]] && echo "$target" && exit 0

work=$(mktemp -d "$cache/make.XXXXXX")
trap 'rm -rf "$work"' EXIT
mmdebstrap --quiet --mode=root --variant=extract --include="$(IFS=, && echo "$*")" \
  --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$work/root" "$mirror" >"$cache/$name.log" 2>&1 ||
  give_up "not cached, and no mirror gives its packages (log: $cache/$name.log)"
rm -rf "$work/root/dev" # device nodes: what runs there gets this machine's
mkdir -p "$work/root"/{proc,dev,tmp,mnt,etc}
# Programs ask for the name of their user.
echo root:x:0:0:root:/tmp:/bin/sh >"$work/root/etc/passwd"
rm -rf "$cache/$name"-*
mv "$work/root" "$target"
echo "$target"
