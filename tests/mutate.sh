#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether the gate notices what is broken: sudo tests/mutate.sh [PATCH...]
# Applies each of tests/mutations/*.patch to a tree of its own, one at a time, and runs the stages of the gate that the patch's
# line "Stage: NAME..." says, until one is red. A line a patch: caught, SLIPPED or DOES NOT APPLY; exit status 1 unless all were caught.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export OOMW_CACHE=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}
work=$OOMW_CACHE/mutated-tree # always the same: only what a patch touches is compiled again
notes=$(mktemp -d)
missed=0

# shellcheck disable=SC2317 # by the trap
cleanup() {
  git -C "$tree" worktree remove --force "$work" 2>/dev/null || true
  rm -rf "$notes"
}
trap cleanup EXIT

# failures: names and texts. A tree of one more line than the budget is none: that is the patch itself.
failures() { grep '^failed: ' "$notes/log" | grep -v '^failed: ci: scripts\.test_tree '; }

# caught STAGE: what a broken tree shows is no flake of this one, and no time.
caught() { ! OOMW_NOTES=$notes "$work/tests/run.sh" --only "$1" >"$notes/log" 2>&1 && failures >/dev/null; }

# caught_nearby PATCH STAGE...: by the unit tests of the rooms that it touches, or by recordings, which are built in a minute.
caught_nearby() {
  local room target targets=() patch=$1
  shift
  export CCACHE_DIR=${CCACHE_DIR:-$OOMW_CACHE/ccache} CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
  cmake -S "$work" --preset ci >"$notes/build" 2>&1 || return
  for room in $(git -C "$work" apply --numstat "$patch" | sed -nE 's|.*\suserspace/(.*)/[^/]*$|\1|p' | sort -u); do
    targets+=("unit_${room//\//_}")
  done
  [[ " $* " != *" pipeline "* ]] || targets+=(pipeline)
  for target in "${targets[@]}"; do
    cmake --build "$work/build/ci" --target "$target" >"$notes/build" 2>&1 || continue
    "$work/build/ci/tests/$target" --gtest_brief=1 >"$notes/log" 2>&1 || return 0
  done
  return 1
}

mutate() {
  local patch=$1 name stage stages began=$SECONDS
  name=$(basename "$patch" .patch)
  read -ra stages < <(sed -n 's/^Stage: //p' "$patch")
  git -C "$work" checkout -q --force . && git -C "$work" clean -qfd -e build
  if ! git -C "$work" apply "$patch" 2>/dev/null; then
    echo "$name: DOES NOT APPLY: make it anew" && missed=1 && return
  fi
  if [[ " ${stages[*]} " == *" unit "* ]] && caught_nearby "$patch" "${stages[@]}"; then
    echo "$name: caught nearby ($((SECONDS - began)) s): $(grep -a -m 1 '^\[  FAILED  \]\|terminate' "$notes/log" | cut -c 1-200)" && return
  fi
  for stage in "${stages[@]}"; do
    caught "$stage" || continue
    echo "$name: caught by $stage ($((SECONDS - began)) s): $(failures | head -n 1 | cut -c 1-200)" && return
  done
  echo "$name: SLIPPED through ${stages[*]} ($((SECONDS - began)) s)" && missed=1
}

(($# > 0)) || set -- "$tree"/tests/mutations/*.patch
git -C "$tree" worktree add --force --detach -q "$work" HEAD
for patch in "$@"; do mutate "$(realpath "$patch")"; done
exit "$missed"
