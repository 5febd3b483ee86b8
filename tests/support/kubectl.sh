#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubectl.sh: prints the path of a kubectl whose kustomize knows components, or exits 3 with the reason on stderr.
#
# The system's is used if it is new enough. Debian 12's own is not, so another suite's is unpacked below
# ${OOMW_CACHE:-~/.cache/oomwitness}/programs.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$(dirname "$0")/private_apt.sh"

cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/programs
program=$cache/kubectl/usr/bin/kubectl
suites=(trixie sid)

give_up() {
  echo "kubectl: $1" >&2
  exit 3
}

is_new_enough() { [[ -n $1 && -x $1 ]] && "$1" version --client 2>/dev/null | grep -qE '^Kustomize Version: v[5-9]'; }

fetch_from() { # suite $1
  local work
  use_suite "$1" "$cache/apt-$1" || return 1
  work=$(mktemp -d "$cache/unpack.XXXXXX")
  if download "$work" kubectl && dpkg -x "$work"/kubectl_*.deb "$work/tree" &&
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
find_mirror
take_lock "$cache" 300
for suite in "${suites[@]}"; do
  fetch_from "$suite" && echo "$program" && exit 0
done
give_up "no suite of ${suites[*]} offers one (logs in $cache/apt-*/log)"
