#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch_programs.sh NAME (prometheus | etcd | caddy | cni | swift): prints the path of that Debian program (cni: of the
# plugin "bridge"; the others lie beside it; swift: of the folder that has its Python packages and libraries), or exits 3
# with the reason on stderr.
#
# Unpacked privately below ${OOMW_CACHE:-~/.cache/oomwitness}/programs and never installed: the
# packages would start services on this machine. apt checks the signatures as for any package.
set -euo pipefail

name=${1:?usage: fetch_programs.sh NAME}
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/programs
path=usr/bin/$name
case $name in
  prometheus | caddy) packages=("$name") ;;
  etcd) packages=(etcd-server) ;;
  cni) packages=(containernetworking-plugins) path=usr/lib/cni/bridge ;;
  swift)
    packages=(python3-swift python3-{certifi,chardet,charset-normalizer,dnspython,eventlet,greenlet,idna,lxml,netifaces}
      python3-{pastedeploy,pkg-resources,pyeclib,requests,six,urllib3,xattr} liberasurecode1)
    path=usr
    ;;
  *) echo "fetch_programs: unknown program $name" >&2 && exit 2 ;;
esac
package=${packages[0]}
program=$cache/$package/$path

give_up() {
  echo "$name: not cached, and $1" >&2
  exit 3
}

[[ -x $program ]] && echo "$program" && exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  give_up "apt-get or dpkg is missing"
fi

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -w 300 9 || give_up "another download holds the lock"
[[ -x $program ]] && echo "$program" && exit 0

work=$(mktemp -d "$cache/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
download() { (cd "$work" && apt-get download -q "${packages[@]}" >"$cache/$package.log" 2>&1); }
if ! download; then
  ((EUID != 0)) || apt-get update -q >"$cache/update.log" 2>&1 || true
  download || give_up "no mirror gives ${packages[*]} (log: $cache/$package.log)"
fi
for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/tree"; done
[[ -x $work/tree/$path ]] || give_up "package $package has no /$path"
rm -rf "${cache:?}/$package"
mv "$work/tree" "$cache/$package"
echo "$program"
