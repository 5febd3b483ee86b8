#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# go_toolchain.sh VERSION ("1.26"): prints a GOROOT of that Go, or exits 3 with the reason on stderr.
#
# A version the system has installed is used as it is. Any other comes from another Debian suite,
# unpacked below ${OOMW_CACHE:-~/.cache/oomwitness}/go.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$(dirname "$0")/private_apt.sh"

version=${1:?usage: go_toolchain.sh VERSION}
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/go
suites=(trixie-backports sid trixie bookworm-backports)

give_up() {
  echo "go $version: $1" >&2
  exit 3
}

root_of() { # GOROOT below folder $1 if it holds a compiler of this version
  local root=$1/usr/lib/go-$version
  [[ -x $root/bin/go && -d $root/src/runtime ]] && echo "$root"
}

fetch_from() { # suite $1 -> $cache/$version
  local work
  use_suite "$1" "$cache/apt-$1" || return 1
  work=$(mktemp -d "$cache/unpack.XXXXXX")
  if download "$work" "golang-$version-go" "golang-$version-src" &&
    for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/tree" || exit 1; done && root_of "$work/tree" >/dev/null; then
    rm -rf "${cache:?}/$version"
    mv "$work/tree" "$cache/$version"
    rm -rf "$work"
    return 0
  fi
  rm -rf "$work"
  return 1
}

root_of "" && exit 0
root_of "$cache/$version" && exit 0
find_mirror
take_lock "$cache" 300
root_of "$cache/$version" && exit 0
for suite in "${suites[@]}"; do
  fetch_from "$suite" && root_of "$cache/$version" && exit 0
done
give_up "no suite of ${suites[*]} offers golang-$version-go (logs in $cache/apt-*/log)"
