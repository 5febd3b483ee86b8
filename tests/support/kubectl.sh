#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl.sh: prints the path of a kubectl whose kustomize knows components, or exits 3 with the reason on stderr.
#
# The system's is used if it is new enough. Debian 12's own is not, so another suite's is unpacked below
# ${OOMW_CACHE:-~/.cache/oomwitness}/programs with an apt state of its own: the system's package lists and packages are
# never touched. The mirror is the one the system already uses.
set -euo pipefail

cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/programs
program=$cache/kubectl/usr/bin/kubectl
suites=(trixie sid)

give_up() {
  echo "kubectl: $1" >&2
  exit 3
}

is_new_enough() { [[ -n $1 && -x $1 ]] && "$1" version --client 2>/dev/null | grep -qE '^Kustomize Version: v[5-9]'; }

apt_private() { # an apt that keeps everything below $state
  "$@" -q -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20
}

fetch_from() { # suite $1
  local state=$cache/apt-$1 work
  mkdir -p "$state"/lists/partial "$state"/cache/archives/partial
  echo "deb $mirror $1 main" >"$state/sources.list"
  apt_private apt-get update >"$state/log" 2>&1 || return 1
  work=$(mktemp -d "$cache/unpack.XXXXXX")
  if (cd "$work" && apt_private apt-get download kubectl >>"$state/log" 2>&1 && dpkg -x kubectl_*.deb tree) &&
    is_new_enough "$work/tree/usr/bin/kubectl"; then
    rm -rf "${cache:?}/kubectl"
    mv "$work/tree" "$cache/kubectl"
  fi
  rm -rf "$work"
  is_new_enough "$program"
}

system=$(command -v kubectl || true)
is_new_enough "$system" && echo "$system" && exit 0
is_new_enough "$program" && echo "$program" && exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  give_up "none with kustomize 5, and apt-get or dpkg is missing"
fi
# shellcheck disable=SC2016 # the format is apt's to expand
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | sort -u | head -1)
[[ -n $mirror ]] || give_up "not cached, and the system's apt knows no mirror"

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -w 300 9 || give_up "another download holds the lock"
for suite in "${suites[@]}"; do
  fetch_from "$suite" && echo "$program" && exit 0
done
give_up "no suite of ${suites[*]} offers one (logs in $cache/apt-*/log)"
