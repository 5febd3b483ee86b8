#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# go_toolchain.sh VERSION ("1.26"): prints a GOROOT of that Go, or exits 3 with the reason on stderr.
#
# A version the system has installed is used as it is. Any other comes from another Debian suite,
# unpacked below ${OOMW_CACHE:-~/.cache/oomwitness}/go with an apt state of its own: the system's
# package lists and packages are never touched. The mirror is the one the system already uses.
set -euo pipefail

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

apt_private() { # an apt that keeps everything below $state
  "$@" -q -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20
}

fetch_from() { # suite $1 -> $cache/$version
  local suite=$1 state=$cache/apt-$1 work
  mkdir -p "$state"/lists/partial "$state"/cache/archives/partial
  echo "deb $mirror $suite main" >"$state/sources.list"
  apt_private apt-get update >"$state/log" 2>&1 || return 1
  work=$(mktemp -d "$cache/unpack.XXXXXX")
  if (cd "$work" && apt_private apt-get download "golang-$version-go" "golang-$version-src" >>"$state/log" 2>&1) &&
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
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  give_up "not cached, and apt-get or dpkg is missing"
fi
# shellcheck disable=SC2016 # the format is apt's to expand
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | sort -u | head -1)
[[ -n $mirror ]] || give_up "not cached, and the system's apt knows no mirror"

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -w 300 9 || give_up "another download holds the lock"
root_of "$cache/$version" && exit 0
for suite in "${suites[@]}"; do
  fetch_from "$suite" && root_of "$cache/$version" && exit 0
done
give_up "no suite of ${suites[*]} offers golang-$version-go (logs in $cache/apt-*/log)"
