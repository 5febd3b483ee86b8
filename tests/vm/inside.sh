#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# inside.sh KERNEL BUILD PARTS [NAME...]: the part of suite.sh that runs in the VM. PARTS: some of "doctor bpf e2e cases
# languages". Leaves doctor.json and PART.xml in /run/out, and how long each took in times.tsv; what a deadline or an end of the VM
# cuts off is what was not written. What is there already is not done again.
# shellcheck disable=SC2317 # functions are called through timed()
set -uo pipefail

kernel=${1:?usage: inside.sh KERNEL BUILD PARTS [NAME...]} build=${2:?build folder} parts=${3:?parts}
shift 3
here=$(cd "$(dirname "$0")" && pwd)
out=/run/out
names=("$@") # only tests whose name holds one of these; nothing is left out then
status=0

timed() { # NAME COMMAND...
  local name=$1 begun=$EPOCHSECONDS code=0
  shift
  "$@" || code=$?
  ((code == 0)) || status=1
  printf '%s\t%d\t%d\n' "$name" "$((EPOCHSECONDS - begun))" "$code" >>"$out/times.tsv"
}

bpf_filter() {
  local filter
  if ((${#names[@]})); then
    filter=$(printf '*%s*:' "${names[@]}")
  else
    filter=-$("$here/choice.py" bpf "$kernel" | cut -f1 | paste -sd:)
  fi
  echo "$filter"
}

run_bpf() {
  "$build/tests/bpf_tests" --gtest_filter="$(bpf_filter)" --gtest_output="xml:$out/bpf.xml"
}

run_folder() { # PART FOLDER [NAME...]
  local part=$1 folder=$2 name
  shift 2
  local arguments=(--binary "$build/userspace/oomwitness" --folder "$here/../$folder" --junit "$out/$part.xml")
  if (($#)); then
    for name in "$@"; do arguments+=(-k "$name"); done
  else
    "$here/choice.py" "$part" "$kernel" >/run/chosen.tsv
    arguments+=(--choose /run/chosen.tsv)
  fi
  [[ ! -s $out/$part.xml ]] || arguments+=(--resume)
  run_again_after_signal /usr/bin/python3 -B "$here/../e2e/run.py" "${arguments[@]}"
}

run_e2e() { run_folder e2e e2e "${names[@]}"; }
run_cases() { run_folder cases cases "${names[@]}"; }

run_languages() { run_folder languages e2e "${names[@]}"; }

# On an emulated CPU the interpreter itself was seen to end with SIGSEGV between two tests, on 5.10 and on the newest
# kernel: the tests that have no result yet are run then. A second such end is a failure.
run_again_after_signal() {
  local code=0
  "$@" || code=$?
  ((code > 128)) || return "$code"
  echo "the runner ended with $code; running the tests that have no result"
  "$@" --resume
}

run_doctor() { "$build/userspace/oomwitness" doctor --json --data-dir /run/doctor >"$out/doctor.json"; }

uname -r >"$out/release"
printf 'boot\t%d\t0\n' "$(cut -d. -f1 /proc/uptime)" >>"$out/times.tsv"
for part in $parts; do
  cut -f1 "$out/times.tsv" | grep -qx "$part" || timed "$part" "run_$part"
done
exit "$status"
