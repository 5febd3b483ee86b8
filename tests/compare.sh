#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What two revisions make of the same real kills: tests/compare.sh OLD [NEW] (default NEW: the working tree). Each is built;
# both read tests/incidents.tar.zst and replay its recordings, into every form that anybody reads. Fails for a difference
# that tests/compare/expected.tsv does not name, and for a row there that nothing differs by. With COST=1 also what both cost,
# in turns (tests/compare/cost.py, root, 10 minutes of a quiet machine).
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
tree=$(dirname "$here")
work=${OOMW_CACHE:-$HOME/.cache/oomwitness}/compare
old=${1:?"usage: compare.sh OLD [NEW]"} new=${2:-}
mkdir -p "$work"

# build NAME REVISION -> the program's path
build() {
  local source=$tree
  if [[ -n $2 ]]; then
    source=$work/$1
    [[ -d $source ]] || git -C "$tree" worktree add -q --detach "$source" "$2"
    git -C "$source" checkout -q --detach "$2"
  fi
  (cd "$source" && cmake --preset ci >/dev/null && ninja -C build/ci outputs_bench oomwitness >"$work/$1.log" 2>&1) || {
    tail -n 20 "$work/$1.log" >&2
    exit 1
  }
  find "$source/build/ci" -name outputs_bench -type f -perm -u+x | head -n 1
}

old_program=$(build old "$(git -C "$tree" rev-parse "$old")")
new_program=$(build new "${new:+$(git -C "$tree" rev-parse "$new")}")
rm -rf "$work/kept" "$work/outputs"
mkdir -p "$work/kept" "$work/outputs"
zstd -dqc "$here/incidents.tar.zst" | tar -C "$work/kept" -x
status=0
python3 "$here/compare/compare.py" "$work/kept" "$old_program" "$new_program" "$work/outputs" "$here/compare/expected.tsv" || status=1
if [[ -n ${COST:-} ]]; then
  # build/ci/tests/outputs_bench stands beside build/ci/userspace/oomwitness
  python3 "$here/compare/cost.py" "${old_program%tests/*}userspace/oomwitness" "${new_program%tests/*}userspace/oomwitness" || status=1
fi
exit $status
