#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite.sh [--build DIR] [--results DIR] [NAME...]: the package of build/ci on a Debian 12 with systemd as process 1, booted
# in a VM. NAME: only cases whose name holds it. Ends with the counts of tests/summary.py; with --results all goes to DIR
# instead: systemd.xml, plain.tsv.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
kernel=6.1 # Debian 12's own
export OOMW_VM_CPUS=2 OOMW_VM_MEMORY_MB=${OOMW_VM_MEMORY_MB:-1536} OOMW_VM_DEADLINE_S=${OOMW_VM_DEADLINE_S:-900}
export OOMW_TIME_FACTOR=${OOMW_TIME_FACTOR:-3}
build=$tree/build/ci results="" names=() work=""

# shellcheck disable=SC2317 # called by the trap
end_all() { [[ -z $work ]] || rm -rf "$work"; }
trap end_all EXIT

parse() {
  while (($# > 0)); do
    case $1 in
      --build) build=$(realpath "${2:?folder}") && shift 2 ;;
      --results) results=$(realpath "${2:?folder}") && shift 2 ;;
      -*) sed -n '3,5s/^# *//p' "$0" >&2 && exit 2 ;;
      *) names+=("$1") && shift ;;
    esac
  done
}

record() { printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results/plain.tsv"; }

# The package that CPack makes of this tree, and one of a higher version with a changed configuration file.
make_packages() { # FOLDER
  (cd "$work" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/cpack") >"$work/log" 2>&1
  mv "$work"/cpack/*.deb "$1/old.deb"
  dpkg-deb -R "$1/old.deb" "$work/new"
  sed -i 's/^Version: .*/&+newer/' "$work/new/DEBIAN/control"
  echo '# of the newer version' >>"$work/new/etc/oomwitness/oomwitness.toml"
  dpkg-deb -Zgzip -z1 -b "$work/new" "$1/new.deb" >>"$work/log"
}

make_input() { # FOLDER: what the cases find at /run/out/input
  mkdir -p "$1"
  make_packages "$1" || {
    tail -n 20 "$work/log"
    return 1
  }
  /usr/bin/python3 - "$tree/tests/e2e" "$1" <<'PYTHON' 
import shutil, sys
sys.path.insert(0, sys.argv[1])
from harness import tools
for program in (tools.memhog(), tools.leaky_go()):
    shutil.copy(program, sys.argv[2])
PYTHON
}

run_vm() { # its exit status; the log in $work/vm.log
  local arguments=() name code=0
  for name in "${names[@]}"; do arguments+=(-k "$name"); done
  (cd / && OOMW_VM_OUT=$work/out OOMW_VM_DISK=$1 OOMW_VM_INIT=$here/init "$here/../vm/run.sh" "$kernel" \
    /usr/bin/python3 -B "/host$tree/tests/e2e/run.py" --folder "/host$here" --junit /run/out/systemd.xml \
    "${arguments[@]}") 2>&1 | tee "$work/vm.log" || code=$?
  return "$code"
}

main() {
  parse "$@"
  work=$(mktemp -d "${TMPDIR:-/tmp}/oomw-systemd.XXXXXX")
  mkdir -p "${results:=$work/results}" "$work/out"
  judge
  [[ $results != "$work/results" ]] || /usr/bin/python3 "$tree/tests/summary.py" "$results"
}

last_words() { tail -n 1 "$1" | tr '\t' ' '; }

judge() {
  local disk code=0
  if ! make_input "$work/out/input"; then
    record fail systemd "no package or no program to kill: $(last_words "$work/log")"
    return
  fi
  disk=$("$here/image.sh" "$work/out/input/old.deb" 2>"$work/image.log") || {
    record skip systemd "$(last_words "$work/image.log")"
    return
  }
  run_vm "$disk" || code=$?
  [[ ! -s $work/out/systemd.xml ]] || cp "$work/out/systemd.xml" "$results/systemd.xml"
  case $code in
    0 | 1) [[ -s $results/systemd.xml ]] || record fail systemd "no results: $(last_words "$work/vm.log")" ;;
    3) record skip systemd "$(last_words "$work/vm.log")" ;;
    *) record fail systemd "the VM ended with $code: $(last_words "$work/vm.log")" ;;
  esac
}

main "$@"
