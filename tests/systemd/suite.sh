#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite.sh [--build DIR] [--results DIR] [NAME...]: the package of build/ci on a Debian 12 with systemd as process 1, booted
# in a VM. NAME: only cases whose name holds it. Ends with the counts of tests/summary.py; with --results all goes to DIR
# instead: systemd-*.xml, plain.tsv.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
kernel=6.1 # Debian 12's own
export OOMW_VM_CPUS=1 OOMW_VM_MEMORY_MB=${OOMW_VM_MEMORY_MB:-1536} OOMW_VM_DEADLINE_S=${OOMW_VM_DEADLINE_S:-900}
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

record() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${3:-}" "${4:-}" >>"$results/plain.tsv"; }

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

# Two VMs at once: what uses the package, and what takes it away.
half_of() { # NAME: the cases of this half
  case $1 in
    use) printf '%s\n' daemon. delegation. kills. oomd. ;;
    end) printf '%s\n' package. script. ;;
    some) printf '%s\n' "${names[@]}" ;;
  esac
}

run_vm() { # HALF DISK: its exit status; the log in $work/HALF.log
  local arguments=() name code=0
  while read -r name; do arguments+=(-k "$name"); done < <(half_of "$1")
  mkdir "$work/$1" && cp -al "$work/input" "$work/$1/input"
  (cd / && OOMW_VM_OUT=$work/$1 OOMW_VM_DISK=$2 OOMW_VM_INIT=$here/init "$here/../vm/run.sh" "$kernel" \
    /usr/bin/python3 -B "/host$tree/tests/e2e/run.py" --folder "/host$here" --junit /run/out/systemd.xml \
    "${arguments[@]}") 2>&1 | sed -u "s/^/$1: /" | tee "$work/$1.log" || code=$?
  return "$code"
}

main() {
  parse "$@"
  work=$(mktemp -d "${TMPDIR:-/tmp}/oomw-systemd.XXXXXX")
  mkdir -p "${results:=$work/results}"
  judge
  [[ $results != "$work/results" ]] || /usr/bin/python3 "$tree/tests/summary.py" "$results"
}

last_words() { tail -n 1 "$1" | tr '\t' ' '; }

judge() {
  local disk half code halves=(use end)
  ((${#names[@]} == 0)) || halves=(some)
  if ! make_input "$work/input"; then
    record fail systemd "no package or no program to kill: $(last_words "$work/log")" build
    return
  fi
  disk=$("$here/image.sh" "$work/input/old.deb" 2>"$work/image.log") || {
    record skip systemd "$(last_words "$work/image.log")"
    return
  }
  for half in "${halves[@]}"; do
    (
      code=0
      run_vm "$half" "$disk" || code=$?
      echo "$code" >"$work/$half.code"
    ) &
  done
  wait
  for half in "${halves[@]}"; do judge_half "$half" "$(<"$work/$half.code")"; done
}

judge_half() { # HALF CODE
  [[ ! -s $work/$1/systemd.xml ]] || cp "$work/$1/systemd.xml" "$results/systemd-$1.xml"
  case $2 in
    0 | 1) [[ -s $results/systemd-$1.xml ]] || record fail "systemd.$1" "no results: $(last_words "$work/$1.log")" crash ;;
    3) record skip "systemd.$1" "$(last_words "$work/$1.log")" ;;
    *) record fail "systemd.$1" "the VM ended with $2: $(last_words "$work/$1.log")" late ;;
  esac
}

main "$@"
