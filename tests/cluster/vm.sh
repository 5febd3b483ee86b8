#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vm.sh RESULTS.xml [NAME...]: the cases, or those whose name holds one of NAMES, in a VM (tests/vm) with cgroup v2 and
# fentry. Some 15 minutes on two emulated CPUs. Exits 3 with the reason on stderr where it cannot be had.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
kernel=6.12
# Eviction, updates and the like are the same on v2; a kill and what is known of it are not.
main_part=(OnePod PodKinds)

inside() { # what containers write may not lie on the overlay that the VM's root is
  mount -t tmpfs files /mnt
  local names=() name
  for name in "$@"; do names+=(-k "$name"); done
  TMPDIR=/mnt /usr/bin/python3 -B "$here/../e2e/run.py" --folder "$here" --junit /run/out/cluster.xml "${names[@]}"
}

if [[ ${1-} == --inside ]]; then
  shift
  inside "$@"
  exit
fi
results=$(realpath "${1:?usage: vm.sh RESULTS.xml [NAME...]}")
shift
(($#)) || set -- "${main_part[@]}"
out=$(mktemp -d "${TMPDIR:-/tmp}/oomw-cluster-vm.XXXXXX")
trap 'rm -rf "$out"' EXIT
/usr/bin/python3 -B "$here/kube/prepare.py" # there is no network in the VM, and a compiler takes minutes
status=0
OOMW_VM_OUT=$out OOMW_VM_MODULES="veth bridge" OOMW_VM_MEMORY_MB=${OOMW_VM_MEMORY_MB:-6000} OOMW_VM_DEADLINE_S=${OOMW_VM_DEADLINE_S:-1800} \
  OOMW_TIME_FACTOR=${OOMW_TIME_FACTOR:-8} "$here/../vm/run.sh" "$kernel" "$here/vm.sh" --inside "$@" || status=$?
[[ ! -s $out/cluster.xml ]] || mv "$out/cluster.xml" "$results"
exit "$status"
