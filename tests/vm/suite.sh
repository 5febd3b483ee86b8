#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite.sh [--kernel K]... [--part P]... [--build DIR] [--results DIR] [--write-table] [NAME...]: parts doctor, bpf and e2e on
# other kernels, with the binaries of build/ci; on demand the parts cases (tests/cases) and languages (a kill of each). NAME: only
# tests whose name holds it, chosen.tsv or not. What doctor says of each kernel and this machine is compared
# with features.md, or becomes it (--write-table).
# Ends with the counts of tests/summary.py; with --results all goes to DIR instead: vm.*.xml, plain.tsv, *.doctor.json.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
export OOMW_TIME_FACTOR=${OOMW_TIME_FACTOR:-5}
at_once=2
build=$tree/build/ci results="" kernels=() names=() table=() parts=""
vm_pids=() status=0 work=""

size_of_vms() { # CPUS MIB SWAP_MIB SECONDS
  export OOMW_VM_CPUS=$1 OOMW_VM_MEMORY_MB=${OOMW_VM_MEMORY_MB:-$2} OOMW_VM_SWAP_MB=${OOMW_VM_SWAP_MB:-$3}
  export OOMW_VM_DEADLINE_S=${OOMW_VM_DEADLINE_S:-$4}
}

parse() {
  while (($# > 0)); do
    case $1 in
      --kernel) kernels+=("${2:?kernel}") && shift 2 ;;
      --build) build=$(realpath "${2:?folder}") && shift 2 ;;
      --results) results=$(realpath "${2:?folder}") && shift 2 ;;
      --write-table) table=(--write) && shift ;;
      --part) parts+="${2:?part} " && shift 2 ;;
      -*) sed -n '3,7s/^# *//p' "$0" >&2 && exit 2 ;;
      *) names+=("$1") && shift ;;
    esac
  done
  parts=${parts:-doctor bpf e2e}
  if [[ $parts == *cases* || $parts == *languages* ]]; then # interpreters and what they are asked by, beside each other
    size_of_vms 2 3072 0 1800
  else
    # One emulated CPU each, two at once: the same work takes two thirds of what it takes two CPUs of one VM. Little memory, so that a
    # test can exhaust a node; swap, so that it is in the picture.
    size_of_vms 1 1024 128 900
  fi
  ((${#kernels[@]})) || kernels=(newest 6.12 6.1 5.10) # those that have more to do first
  [[ -x $build/tests/bpf_tests && -x $build/userspace/oomwitness ]] || {
    echo "suite.sh: no bpf_tests or no oomwitness in $build (cmake --build --preset ci)" >&2
    exit 2
  }
}

# shellcheck disable=SC2317 # called by the trap
end_all() {
  local pid
  for pid in "${vm_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  [[ -z $work ]] || rm -rf "$work"
}
trap end_all EXIT
trap 'exit 130' INT TERM

run_kernel() { # in a process of its own: results in $work/KERNEL
  local kernel=$1 begun=$SECONDS code=0 vm
  OOMW_VM_OUT=$work/$kernel "$here/run.sh" "$kernel" "$here/inside.sh" "$kernel" "$build" "$parts" "${names[@]}" \
    >"$work/$kernel/log" 2>&1 &
  vm=$!
  trap 'kill "$vm"; wait; exit 130' TERM
  wait "$vm" || code=$?
  echo "$code" >"$work/$kernel/status"
  # Passed tests are in the counts; gtest's lines on them add nothing.
  sed "/^\[ RUN  \|^\[       OK\|^\[-----/d; s/^/$kernel: /" "$work/$kernel/log"
  printf '%s: %s; %d s in all, %s\n' "$kernel" "$(cat "$work/$kernel/release" 2>/dev/null || echo "no VM")" \
    "$((SECONDS - begun))" "$(awk '{printf "%s %d s ", $1, $2}' "$work/$kernel/times.tsv" 2>/dev/null)"
}

run_kernels() {
  local kernel
  "$here/prepare.py"
  for kernel in "${kernels[@]}"; do
    while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
    mkdir "$work/$kernel"
    run_kernel "$kernel" &
    vm_pids+=($!)
  done
  wait "${vm_pids[@]}"
  for kernel in "${kernels[@]}"; do
    "$here/results.py" "$kernel" "$work/$kernel" "$results" "$parts" || status=1
  done
}

judge_features() {
  "$build/userspace/oomwitness" doctor --json --data-dir "$work/doctor" >"$results/host.doctor.json" || true
  if "$here/features.py" "$results" "${table[@]}"; then
    printf 'pass\tvm.features\t\n' >>"$results/plain.tsv"
  else
    printf 'fail\tvm.features\tnot what tests/vm/features.md says (suite.sh --write-table makes it anew)\n' >>"$results/plain.tsv"
    status=1
  fi
}

main() {
  parse "$@"
  work=$(mktemp -d "${TMPDIR:-/tmp}/oomw-vm-suite.XXXXXX")
  mkdir -p "${results:=$work/results}"
  run_kernels
  [[ $parts != *doctor* ]] || judge_features
  [[ $results != "$work/results" ]] || /usr/bin/python3 "$tree/tests/summary.py" "$results" || status=1
  exit "$status"
}

main "$@"
