#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests that kill, and packs what was recorded and written of it into tests/incidents.tar.zst, for tests/compare.sh:
# sudo OOMWITNESS=BINARY tests/keep.sh [FOLDER ...] (default: e2e). Only needed when the format changes, or for more cases.
# FOLDER "labelled": the runs of tests/corpus/answers.tsv, of which is known what is right (an hour). ADD=1: beside what is packed.
# What tests/pipeline/recorded.tsv names goes to tests/pipeline/recordings, too.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
kept=$here/../build/kept
rm -rf "$kept"
mkdir -p "$kept"
[[ -z ${ADD:-} ]] || zstd -dqc "$here/incidents.tar.zst" | tar -C "$kept" -x
for folder in "${@:-e2e}"; do
  if [[ $folder == labelled ]]; then
    python3 "$here/bench/answers.py" --jobs 4 --keep-small "$kept/incidents" || true
    continue
  fi
  OOMW_KEEP_IN=$kept python3 "$here/e2e/run.py" --folder "$here/$folder" --lanes 3 || echo "keep.sh: tests of $folder failed; what the others left is packed" >&2
done
while IFS=$'\t' read -r name test; do
  [[ $name == \#* ]] || cp "$kept/recordings/$test-0.jsonl" "$here/pipeline/recordings/$name.jsonl" || true
done <"$here/pipeline/recorded.tsv"
find "$kept" -exec touch -h -d @0 {} +
tar -C "$kept" --sort=name --owner=0 --group=0 --numeric-owner -c incidents recordings | zstd -q -19 -f -o "$here/incidents.tar.zst"
ls -l "$here/incidents.tar.zst"
