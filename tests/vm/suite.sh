#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite.sh [--kernel K]... [--part P]... [--build DIR] [--results DIR] [--write-table] [NAME...]: parts doctor, bpf and e2e on
# other kernels, with the binaries of build/ci; on demand the parts cases (tests/cases) and languages (a kill of each), each in
# a VM of its own. NAME: only tests whose name holds it, chosen.tsv or not. What doctor says of each kernel and this machine is
# compared with features.md, or becomes it (--write-table). A VM that breaks is booted once more, for what has no result yet.
# Ends with the counts of tests/summary.py; with --results all goes to DIR instead: vm.*.xml, plain.tsv, *.doctor.json.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
export OOMW_TIME_FACTOR=${OOMW_TIME_FACTOR:-5}
at_once=2
build=$tree/build/ci results="" kernels=() names=() table=() parts=""
vms=() # "NAME KERNEL PART..."
vm_pids=() status=0 work=""
export OOMW_VM_CPUS=1
min_boot_s=120 # a VM that broke is not booted again for less

# One emulated CPU each, two VMs at once: the same work takes two thirds of what it takes two CPUs of one VM, and no CPU runs kernel
# code that another one is just patching (with two, 6.12 died of an int3 of its own in a tracepoint that was being attached).
size_of_vms() { # MIB SWAP_MIB SECONDS
  export OOMW_VM_MEMORY_MB=${OOMW_VM_MEMORY_MB:-$1} OOMW_VM_SWAP_MB=${OOMW_VM_SWAP_MB:-$2} OOMW_VM_DEADLINE_S=${OOMW_VM_DEADLINE_S:-$3}
}

choose_vms() { # by kernels and parts
  local kernel part together=() alone=()
  for part in $parts; do
    if [[ $part == cases || $part == languages ]]; then alone+=("$part"); else together+=("$part"); fi
  done
  for kernel in "${kernels[@]}"; do
    ((${#together[@]} == 0)) || vms+=("$kernel $kernel ${together[*]}")
    for part in "${alone[@]}"; do vms+=("$kernel.$part $kernel $part"); done
  done
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
    size_of_vms 3072 0 1800
  else # little memory, so that a test can exhaust a node; swap, so that it is in the picture
    size_of_vms 1024 128 900
  fi
  ((${#kernels[@]})) || kernels=(newest 6.12 6.1 5.10) # those that have more to do first
  choose_vms
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

next_part() { # FOLDER PART...: the first that has no end there
  local part folder=$1
  shift
  for part; do
    cut -f1 "$folder/times.tsv" 2>/dev/null | grep -qx "$part" || { echo "$part" && return; }
  done
}

boot_vm() { # NAME KERNEL PART...: in a process of its own
  local name=$1 kernel=$2 code=0 vm
  shift 2
  OOMW_VM_OUT=$work/$name "$here/run.sh" "$kernel" "$here/inside.sh" "$kernel" "$build" "$*" "${names[@]}" >>"$work/$name/log" 2>&1 &
  vm=$!
  trap 'kill "$vm"; wait; exit 130' TERM
  wait "$vm" || code=$?
  echo "$code" >"$work/$name/status"
  return "$code"
}

run_vm() { # NAME KERNEL PART...: results in $work/NAME
  local name=$1 log=$work/$1/log begun=$SECONDS code=0
  boot_vm "$@" || code=$?
  if ((code == 70 && SECONDS - begun + min_boot_s < OOMW_VM_DEADLINE_S)); then
    printf '%s\t%s\n' "$(next_part "$work/$name" "${@:3}")" \
      "$(grep -m 1 'Oops\|BUG:\|panic\|general protection' "$log" || tail -n 1 "$log")" >"$work/$name/again"
    echo "booted again for what has no result" >>"$log"
    OOMW_VM_DEADLINE_S=$((OOMW_VM_DEADLINE_S - SECONDS + begun)) boot_vm "$@" || true
  fi
  # Passed tests are in the counts; gtest's lines on them add nothing.
  sed "/^\[ RUN  \|^\[       OK\|^\[-----/d; s/^/$name: /" "$log"
  printf '%s: %s; %d s in all, %s\n' "$name" "$(cat "$work/$name/release" 2>/dev/null || echo "no VM")" \
    "$((SECONDS - begun))" "$(awk '{printf "%s %d s ", $1, $2}' "$work/$name/times.tsv" 2>/dev/null)"
}

run_vms() {
  local vm words
  "$here/prepare.py"
  for vm in "${vms[@]}"; do
    while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
    read -ra words <<<"$vm"
    mkdir "$work/${words[0]}"
    run_vm "${words[@]}" &
    vm_pids+=($!)
  done
  wait "${vm_pids[@]}"
  for vm in "${vms[@]}"; do
    read -ra words <<<"$vm"
    "$here/results.py" "${words[1]}" "$work/${words[0]}" "$results" "${words[*]:2}" || status=1
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
  run_vms
  [[ $parts != *doctor* ]] || judge_features
  [[ $results != "$work/results" ]] || /usr/bin/python3 "$tree/tests/summary.py" "$results" || status=1
  exit "$status"
}

main "$@"
