#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vm.sh RESULTS.xml [NAME...]: the cases below, or those whose name holds one of NAMES, in a VM (tests/vm) with cgroup v2 and
# fentry. Its output and exit status are those of tests/e2e/run.py; 3: it cannot be had here (the reason is on stderr).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
kernel=6.12
# A kill and what is known of it. Of the other cases none is known to pass: all pods of pod_kinds at once were too much for
# the API server on a busy machine ("resource quota evaluation timed out").
cases=(one_pod. groups.)
vm="" out=""

# On a file system of its own: what containers write must not lie on the overlay that the VM's root is.
inside() {
  local names=() name
  mount -t tmpfs files /mnt
  for name in "$@"; do names+=(-k "$name"); done
  TMPDIR=/mnt exec /usr/bin/python3 -B "$here/../e2e/run.py" --folder "$here" --junit /run/out/cluster.xml "${names[@]}"
}

# shellcheck disable=SC2317 # called by the trap
end_all() {
  [[ -z $vm ]] || kill "$vm" 2>/dev/null || true
  wait
  rm -rf "$out"
}

# In a session of its own, with more of the CPU than others: the kernel divides it by sessions, so that one with compilers
# at idle priority gets as much as this one. With half of it the API server needs three minutes to answer, and once never did.
run_vm() {
  OOMW_VM_OUT=$out OOMW_VM_MODULES="veth bridge" OOMW_VM_MEMORY_MB=${OOMW_VM_MEMORY_MB:-6000} \
    OOMW_VM_DEADLINE_S=${OOMW_VM_DEADLINE_S:-1500} OOMW_TIME_FACTOR=${OOMW_TIME_FACTOR:-8} \
    setsid bash -c 'echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"' - \
    "$here/../vm/run.sh" "$kernel" "$here/vm.sh" --inside "$@" &
  vm=$!
  wait "$vm"
}

if [[ ${1-} == --inside ]]; then
  shift
  inside "$@"
fi
results=$(realpath "${1:?usage: vm.sh RESULTS.xml [NAME...]}")
shift
(($#)) || set -- "${cases[@]}"
needed_mb=$((${OOMW_VM_MEMORY_MB:-6000} + 500))
if (($(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo) < needed_mb)); then
  echo "less than $needed_mb MB of memory are available" >&2
  exit 3
fi
/usr/bin/python3 -B "$here/kube/prepare.py" # there is no network in the VM, and a compiler takes minutes
out=$(mktemp -d "${TMPDIR:-/tmp}/oomw-cluster-vm.XXXXXX")
trap end_all EXIT
trap 'exit 130' INT TERM
status=0
run_vm "$@" || status=$?
vm=""
[[ ! -s $out/cluster.xml ]] || mv "$out/cluster.xml" "$results"
exit "$status"
