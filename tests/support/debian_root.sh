#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian_root.sh [--suite SUITE] NAME PACKAGE...: prints the path of a folder with these packages of a Debian suite
# (bookworm, which is Debian 12, by default) and all that they depend on, for programs that run in it by chroot; exits 3
# with the reason on stderr where it cannot be had.
#
# Unpacked, never installed: no script of a package runs. Below ${OOMW_CACHE:-~/.cache/oomwitness}/roots, made once for a
# name, its suite, its packages and this script. apt checks the signatures as for any package.
set -euo pipefail

usage='usage: debian_root.sh [--suite SUITE] NAME PACKAGE...'
suite=bookworm
if [[ ${1-} == --suite ]]; then
  suite=${2:?$usage}
  shift 2
fi
name=${1:?$usage}
shift
# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$(dirname "$0")/private_apt.sh"
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/roots

give_up() {
  echo "$name: $1" >&2
  exit 3
}

key=$({ cat "$0" && echo "$suite" "$@"; } | sha256sum | cut -c1-16)
target=$cache/$name-$key
begin_root "$target"
# Whether a mirror may be older than its lists allow is this machine's to say, as for its own packages.
expires=$(apt-config dump --format '%v%n' Acquire::Check-Valid-Until)
mmdebstrap --quiet --mode=root --variant=extract --include="$(IFS=, && echo "$*")" \
  --aptopt='APT::Install-Recommends "false"' --aptopt="Acquire::Check-Valid-Until \"${expires:-true}\"" \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$work/root" "$mirror" >"$cache/$name.log" 2>&1 ||
  give_up "not cached, and no mirror gives its packages of $suite (log: $cache/$name.log)"
rm -rf "$work/root/dev" # device nodes: what runs there gets this machine's
mkdir -p "$work/root"/{proc,dev,tmp,mnt,etc}
# Since Debian 13 packages have nothing outside of /usr, and the links to it are none of theirs.
for folder in bin lib lib64 sbin; do
  [[ -e $work/root/$folder ]] || ln -s "usr/$folder" "$work/root/$folder"
done
# Programs ask for the name of their user.
echo root:x:0:0:root:/tmp:/bin/sh >"$work/root/etc/passwd"
rm -rf "$cache/$name"-*
mv "$work/root" "$target"
echo "$target"
