#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test, on this machine: sudo tests/run.sh [--only STAGE]...
#   STAGE: unit | pipeline | matrix | bpf | e2e | living | peers | web | hostile | deploy | cluster | cluster-vm | vm | systemd | fuzz | sanitizers | bench
# Ends with the skipped tests and their reasons, then what failed, then one line "N passed, N failed, N skipped";
# exit status 1 if anything failed. OOMW_CACHE holds ccache, Go builds and downloads.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export OOMW_CACHE=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}
# Without the working folder in the hash, any clone is served by what another one compiled.
export CCACHE_DIR=${CCACHE_DIR:-$OOMW_CACHE/ccache} CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-2}
# On demand: bench, whose bars need a quiet machine, and cluster-vm, minutes of two emulated CPUs.
stages=(unit pipeline matrix bpf e2e living peers web hostile deploy cluster vm systemd fuzz sanitizers)
fuzz_seconds=${OOMW_FUZZ_SECONDS:-10}
limit_seconds=${OOMW_LIMIT_SECONDS:-4800} # a run that is cut off at 90 minutes has no results at all
build=$tree/build/ci
results=$(mktemp -d "${TMPDIR:-/tmp}/oomw-results.XXXXXX")
ahead="" # the process group of work_ahead, while it runs
systemd="" # and of systemd_ahead
folders="" # and of folders_ahead

# shellcheck disable=SC2317 # called by the trap
end_all() {
  local group
  for group in $ahead $systemd $folders; do kill -- -"$group" 2>/dev/null || true; done
  rm -rf "$results"
}
trap end_all EXIT

usage() {
  sed -n '3,4s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

parse() {
  local only=()
  while (($# > 0)); do
    [[ $1 == --only && $# -ge 2 ]] || usage
    case $2 in
      unit | pipeline | matrix | bpf | e2e | living | peers | web | hostile | deploy | cluster | cluster-vm | vm | systemd | fuzz | sanitizers | bench) only+=("$2") ;;
      *) usage ;;
    esac
    shift 2
  done
  ((${#only[@]} == 0)) || stages=("${only[@]}")
}

wants() { [[ " ${stages[*]} " == *" $1 "* ]]; }

say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# A result that no test framework writes: record pass|fail|skip NAME [REASON].
record() { printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results/plain.tsv"; }

# has_time NAME SECONDS: whether that much is left, as it takes on 2 cores with nothing cached.
has_time() {
  ((SECONDS + $2 <= limit_seconds)) && return
  record skip "$1" "no time left: may need $2 s more, and a run ends after $limit_seconds s (OOMW_LIMIT_SECONDS)"
  return 1
}

# The tests of e2e wait for most of their time: what the sanitizers need is built beside them on idle CPU time, with
# nothing cached some 20 minutes of both CPUs, and is tested and fuzzed there if e2e still runs then. Before it the
# cluster's programs, 5 CPU minutes, which are needed first. The stage that needs them reports a failure.
work_ahead() {
  local presets=() preset
  ! wants fuzz && ! wants sanitizers || presets+=(asan)
  ! wants sanitizers || presets+=(tsan)
  ((${#presets[@]})) || wants cluster || return 0
  set -m # a process group of its own, to be ended with all it started
  (
    set +e
    chrt --idle --pid 0 "$BASHPID" && cd "$tree" || exit
    ! wants cluster || tests/support/kubernetes_build.sh
    for preset in "${presets[@]}"; do
      cmake --preset "$preset" && cmake --build --preset "$preset" -j 2 -- -k 0 && touch "$results/$preset.built"
    done
    # Not idle from here on: a test that gets no time at all fails.
    chrt --other --pid 0 "$BASHPID" && renice -n 10 -p "$BASHPID"
    ! wants sanitizers || test_ahead sanitized asan
    ! wants sanitizers || test_ahead sanitized tsan
    ! wants fuzz || CTEST_PARALLEL_LEVEL=1 test_ahead fuzz_all asan
  ) >"$results/ahead.log" 2>&1 &
  ahead=$!
  set +m
}

# test_ahead FUNCTION PRESET: beside e2e, unless that has ended; its lines are kept for the stage that it belongs to.
test_ahead() {
  [[ -e $results/beside && -e $results/$2.built ]] || return 0
  "$@" >"$results/$1.$2.log" 2>&1
  touch "$results/$1.$2.done"
}

# or_ahead FUNCTION PRESET: what it printed if it was done beside e2e, else does it now.
or_ahead() {
  if [[ -e $results/$1.$2.done ]]; then cat "$results/$1.$2.log"; else "$@"; fi
}

wait_ahead() {
  [[ -n $ahead ]] || return 0
  wait "$ahead" || true
  ahead=""
}

# built PRESET TARGET...: configures and builds; a failure is a result, the log its reason.
built() {
  local preset=$1
  shift
  [[ $preset == ci ]] || wait_ahead
  if cmake -S "$tree" --preset "$preset" >"$results/$preset.log" 2>&1 &&
    cmake --build "$tree/build/$preset" --target "$@" -- -k 0 >>"$results/$preset.log" 2>&1; then
    return 0
  fi
  tail -n 60 "$results/$preset.log"
  record fail "build.$preset.$1" "does not build: $(grep -m 1 -E 'error:|FAILED:' "$results/$preset.log" | tr '\t' ' ' | cut -c 1-300 || true)"
  return 1
}

# run_ctest PRESET LABEL: one JUnit file.
run_ctest() {
  local junit=$results/$1.$2.xml
  ctest --test-dir "$tree/build/$1" -L "^($2)\$" --output-on-failure --no-tests=error --timeout 300 \
    --output-junit "$junit" >"$results/$1.$2.ctest" 2>&1
  local status=$?
  grep -vE '^ *(Start +[0-9]+|[0-9]+/[0-9]+ Test .*Passed)' "$results/$1.$2.ctest" || true
  [[ $status -eq 0 || -s $junit ]] || record fail "ctest.$1.$2" "ctest ended with $status"
}

stage_ctest() {
  built ci "$1_tests" && run_ctest ci "$1"
}

# The readers of Go heaps against several Go versions; each toolchain that cannot be had is skipped.
stage_matrix() {
  built ci unit_runtimes_go unit_captures && run_ctest ci matrix
}

stage_bpf() {
  if ((EUID != 0)); then
    record skip bpf "not root: BPF programs cannot be loaded"
    return
  fi
  built ci bpf_tests || return
  "$build/tests/bpf_tests" --gtest_brief=1 --gtest_output="xml:$results/bpf.xml"
  local status=$?
  [[ -s $results/bpf.xml ]] || record fail bpf "bpf_tests ended with $status"
}

stage_e2e() {
  built ci oomwitness || return
  /usr/bin/python3 "$tree/tests/e2e/run.py" --binary "$build/userspace/oomwitness" --junit "$results/e2e.xml"
  local status=$?
  [[ -s $results/e2e.xml && $status -le 1 ]] || record fail e2e "the runner ended with $status"
  test_vm_scripts
  test_quickstart
}

# The script a newcomer runs first, with the binary just tested.
test_quickstart() {
  if ((EUID != 0)); then
    record skip e2e.quickstart "not root"
    return
  fi
  local kept=$results/quickstart log=$results/quickstart.log status=0 fault
  "$tree/deploy/quickstart.sh" --binary "$build/userspace/oomwitness" --data-dir "$kept" >"$log" 2>&1 || status=$?
  fault=$(quickstart_fault "$status" "$kept" "$log")
  if [[ -z $fault ]]; then
    record pass e2e.quickstart
  else
    tail -n 60 "$log"
    record fail e2e.quickstart "$fault"
  fi
}

# quickstart_fault STATUS DATA_DIR LOG: what a newcomer would miss; nothing: all is there.
quickstart_fault() {
  local answers
  # How each of them came to its limit, and the beginnings of the answers.
  answers=$(/usr/bin/python3 "$tree/tests/way_up.py" "$2"/incidents/*oomwitness-quickstart-*{python,go}*/incident.json | paste -sd ' '
    sed -n '/^== oomwitness show/,+4p' "$3" | cut -c 1-250 | tr -s '\n\t ' ' ')
  if (($1 != 0)); then
    echo "it ended with $1: $(tail -n 3 "$3" | tr -s '\n\t ' ' ')"
  elif ! compgen -G "$2/incidents/*/capture-*.pb.gz" >/dev/null; then
    echo "no heap profile; $answers"
  elif ! grep -q 'Memory leak in reports-service' "$3" ||
    ! grep -q 'Memory leak in python3: a dict of .* held as .*sessions' "$3"; then
    echo "a leak that is not called one: $answers"
  elif ! grep -q " web --data-dir $2\$" "$3"; then
    echo "no word about the pages"
  elif [[ -n $(compgen -G '/sys/fs/cgroup/*/oomwitness-quickstart-*') ]]; then
    echo "something was left behind"
  fi
}

# run_folder NAME: the tests of a folder of tests/.
run_folder() {
  /usr/bin/python3 "$tree/tests/e2e/run.py" --folder "$tree/tests/$1" --binary "$build/userspace/oomwitness" \
    --junit "$results/$1.xml"
  local status=$?
  [[ -s $results/$1.xml && $status -le 1 ]] || record fail "$1" "the runner ended with $status"
}

# In a run with e2e, which mostly waits, these folders are tested beside it.
folders_ahead() {
  local wanted=() folder
  for folder in web deploy living peers; do ! wants "$folder" || wanted+=("$folder"); done
  ((${#wanted[@]})) && built ci oomwitness || return 0
  set -m
  (
    set +e
    renice -n 5 -p "$BASHPID" >/dev/null
    for folder in "${wanted[@]}"; do run_folder "$folder" >"$results/$folder.log" 2>&1; done
  ) &
  folders=$!
  set +m
}

# done_ahead FOLDER: whether folders_ahead has done it, which is waited for; then what it printed.
done_ahead() {
  [[ -z $folders ]] || wait "$folders" || true
  folders=""
  [[ -e $results/$1.log ]] && cat "$results/$1.log"
}

# Programs that are read while they live.
stage_living() { done_ahead living || { built ci oomwitness && run_folder living; }; }

# Those that the daemon talks to.
stage_peers() { done_ahead peers || { built ci oomwitness && run_folder peers; }; }

# The pages in a real browser. Their screenshots stay in build/web-screenshots.
stage_web() { done_ahead web || { built ci oomwitness && run_folder web; }; }

# Containers that attack the daemon.
stage_hostile() { built ci oomwitness && run_folder hostile; }

# Rules, dashboard, unit, package and manifests, as they are shipped.
stage_deploy() { done_ahead deploy || { built ci oomwitness && run_folder deploy; }; }

# The manifests as they are shipped, on a real Kubernetes.
stage_cluster() {
  has_time cluster 600 && built ci oomwitness || return
  run_folder cluster
  local left
  left=$("$tree/tests/cluster/kube/node.sh" leftovers | paste -sd' ')
  if [[ -z $left ]]; then
    record pass cluster.leaves_nothing
  else
    record fail cluster.leaves_nothing "left on this machine: $left"
  fi
}

# The kills among its cases on a kernel with cgroup v2 and fentry. On demand.
stage_cluster-vm() {
  if ((EUID != 0)); then
    record skip cluster-vm "not root: the VM reads files that only root may"
    return
  fi
  has_time cluster-vm 1800 && built ci oomwitness || return
  local status=0
  OOMWITNESS=$build/userspace/oomwitness "$tree/tests/cluster/vm.sh" "$results/cluster-vm.xml" 2>"$results/cluster-vm.log" || status=$?
  cat "$results/cluster-vm.log"
  case $status in
    3) record skip cluster-vm "$(tail -n 1 "$results/cluster-vm.log")" ;;
    *) [[ -s $results/cluster-vm.xml && $status -le 1 ]] || record fail cluster-vm "the VM ended with $status" ;;
  esac
}

# The same binaries on other kernels, with cgroup v2.
stage_vm() {
  if ((EUID != 0)); then
    record skip vm "not root: the VM reads files that only root may"
    return
  fi
  has_time vm 1000 && built ci oomwitness bpf_tests || return
  "$tree/tests/vm/suite.sh" --results "$results"
  compgen -G "$results/vm.*[0-9t].xml" >/dev/null || record fail vm "no results of any kernel"
}

# The package on a Debian whose process 1 is systemd.
stage_systemd() {
  if [[ -n $systemd ]]; then
    wait "$systemd" || true
    systemd=""
    cat "$results/systemd.log"
    return
  fi
  if ((EUID != 0)); then
    record skip systemd "not root: the VM reads files that only root may"
    return
  fi
  has_time systemd 600 && built ci oomwitness || return
  "$tree/tests/systemd/suite.sh" --results "$results"
}

# In a run with e2e, which mostly waits, its VMs run beside that, after it but not on idle CPU time: a guest that gets none
# for seconds takes longer than its daemon may. They are waited for near the end of the run only.
systemd_ahead() {
  ((EUID == 0)) && wants systemd && built ci oomwitness || return 0
  set -m
  (renice -n 10 -p "$BASHPID" && export OOMW_VM_DEADLINE_S=2400 && exec "$tree/tests/systemd/suite.sh" --results "$results") >"$results/systemd.log" 2>&1 &
  systemd=$!
  set +m
}

# The scripts that judge what comes out of the VMs: no VM needed.
test_vm_scripts() {
  /usr/bin/python3 "$tree/tests/e2e/run.py" --folder "$tree/tests/vm" --junit "$results/vm.scripts.xml" ||
    [[ -s $results/vm.scripts.xml ]] || record fail vm.scripts "the runner failed"
}

run_fuzzer() {
  local fuzzer=$1 name seeds
  name=$(basename "$fuzzer")
  seeds=$tree/tests/fuzz/corpus/${name%_fuzz}
  mkdir -p "$results/corpus/$name"
  local arguments=(-max_total_time="$fuzz_seconds" -timeout=5 -rss_limit_mb=1024 -max_len=65536 -artifact_prefix="$results/")
  [[ ! -d $seeds ]] || arguments+=("$results/corpus/$name" "$seeds")
  if "$fuzzer" "${arguments[@]}" >"$results/$name.log" 2>&1; then
    record pass "fuzz.$name"
    tail -n 1 "$results/$name.log"
  else
    tail -n 40 "$results/$name.log"
    record fail "fuzz.$name" "crashed, hung or outgrew its bounds"
  fi
}

fuzz_all() { # of the preset $1
  local fuzzer found=0
  for fuzzer in "$tree/build/$1"/tests/*_fuzz; do
    [[ -x $fuzzer ]] || continue
    found=1
    while (($(jobs -rp | wc -l) >= CTEST_PARALLEL_LEVEL)); do wait -n || true; done
    run_fuzzer "$fuzzer" &
  done
  wait
  ((found)) || record fail fuzz "no fuzzers were built"
}

stage_fuzz() {
  has_time fuzz 900 && built asan fuzzers && or_ahead fuzz_all asan
}

sanitized() { run_ctest "$1" "unit|pipeline"; }

stage_sanitizers() {
  local preset
  for preset in asan tsan; do
    say "$preset"
    has_time "$preset" 900 && built "$preset" unit_tests pipeline_tests && or_ahead sanitized "$preset"
  done
}

stage_bench() {
  built ci oomwitness || return
  local bench words
  for bench in latency footprint coverage_http "coverage --quick --early --peers"; do
    read -ra words <<<"$bench"
    if /usr/bin/python3 "$tree/tests/bench/${words[0]}.py" "${words[@]:1}" --binary "$build/userspace/oomwitness" --check; then
      record pass "bench.${words[0]}"
    else
      record fail "bench.${words[0]}" "a bar was missed"
    fi
  done
}

main() {
  parse "$@"
  mkdir -p "$CCACHE_DIR"
  # Half a second when everything is there; names what is missing when it may not install it.
  "$tree/deploy/install-deps.sh" tests || exit 1
  local stage
  for stage in unit pipeline matrix bpf e2e living peers web hostile deploy cluster cluster-vm vm systemd fuzz sanitizers bench; do
    wants "$stage" || continue
    say "$stage"
    if [[ $stage == e2e ]]; then
      touch "$results/beside"
      work_ahead
      systemd_ahead
      folders_ahead
    fi
    case $stage in
      # A failed stage is in the results; the next one runs all the same.
      unit | pipeline) stage_ctest "$stage" || true ;;
      *) "stage_$stage" || true ;;
    esac
    [[ $stage != e2e ]] || rm -f "$results/beside"
  done
  say "results"
  /usr/bin/python3 "$tree/tests/summary.py" "$results"
}

main "$@"
