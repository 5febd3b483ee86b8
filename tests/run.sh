#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test, on this machine: sudo tests/run.sh [--only STAGE]...
# One test, to hunt a flake: sudo tests/run.sh --name NAME [--times N] [--under-load], NAME as a failed: or flaky: line has it
#   STAGE: unit | pipeline | matrix | bpf | e2e | living | peers | web | hostile | deploy | cluster | cluster-vm | vm | systemd | fuzz | sanitizers | bench
# What failed is run again alone, as its class allows (rerun.py). Ends with the skipped tests and their reasons, what failed,
# what was flaky, then one line "N passed, N failed, N skipped"; exit status 1 if anything failed. OOMW_CACHE holds ccache,
# Go builds, downloads and what was flaky.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export OOMW_CACHE=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}
# Without the working folder in the hash, any clone is served by what another one compiled.
export CCACHE_DIR=${CCACHE_DIR:-$OOMW_CACHE/ccache} CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-2}
# On demand: bench, whose bars need a quiet machine, and cluster-vm, minutes of two emulated CPUs.
stages=(unit pipeline matrix bpf e2e living peers web hostile deploy cluster vm systemd fuzz sanitizers)
is_whole=1 # without --only
fuzz_seconds=${OOMW_FUZZ_SECONDS:-10}
limit_seconds=${OOMW_LIMIT_SECONDS:-4800} # a run that is cut off at 90 minutes has no results at all
rerun_seconds=300 # after that, for failures that are run again
build=$tree/build/ci
results=$(mktemp -d "${TMPDIR:-/tmp}/oomw-results.XXXXXX")

hunt=() # --name and its options, for rerun.py

trap 'rm -rf "$results"' EXIT

usage() {
  sed -n '3,5s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

parse() {
  local only=()
  while (($# > 0)); do
    case $1 in
      --under-load) hunt+=("$1") && shift && continue ;;
      --name | --times | --only) (($# >= 2)) || usage ;;
      *) usage ;;
    esac
    [[ $1 == --only ]] || { hunt+=("$1" "$2") && shift 2 && continue; }
    case $2 in
      unit | pipeline | matrix | bpf | e2e | living | peers | web | hostile | deploy | cluster | cluster-vm | vm | systemd | fuzz | sanitizers | bench) only+=("$2") ;;
      *) usage ;;
    esac
    shift 2
  done
  ((${#only[@]} == 0)) || { stages=("${only[@]}") && is_whole=0; }
  ((${#hunt[@]} == 0)) || [[ " ${hunt[*]} " == *" --name "* ]] || usage
}

wants() { [[ " ${stages[*]} " == *" $1 "* ]]; }

say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# A result that no test framework writes: record pass|fail|skip NAME [REASON [CLASS]]; CLASS of a failure: outcomes.py.
record() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${3:-}" "${4:-}" >>"$results/plain.tsv"; }

# has_time NAME SECONDS: whether that much is left, as it takes on 2 cores with nothing cached.
has_time() {
  ((SECONDS + $2 <= limit_seconds)) && return
  record skip "$1" "no time left: may need $2 s more, and a run ends after $limit_seconds s (OOMW_LIMIT_SECONDS)"
  return 1
}

# built PRESET TARGET...: configures and builds; a failure is a result, the log its reason.
built() {
  local preset=$1
  shift
  if cmake -S "$tree" --preset "$preset" >"$results/$preset.log" 2>&1 &&
    cmake --build "$tree/build/$preset" --target "$@" -- -k 0 >>"$results/$preset.log" 2>&1; then
    return 0
  fi
  tail -n 60 "$results/$preset.log"
  record fail "build.$preset.$1" "does not build: $(grep -m 1 -E 'error:|FAILED:' "$results/$preset.log" | tr '\t' ' ' | cut -c 1-300 || true)" build
  return 1
}

# run_ctest PRESET LABEL: one JUnit file.
run_ctest() {
  local junit=$results/$1.$2.xml
  ctest --test-dir "$tree/build/$1" -L "^($2)\$" --output-on-failure --no-tests=error --timeout 300 \
    --output-junit "$junit" >"$results/$1.$2.ctest" 2>&1
  local status=$?
  grep -vE '^ *(Start +[0-9]+|[0-9]+/[0-9]+ Test .*Passed)' "$results/$1.$2.ctest" || true
  [[ $status -eq 0 || -s $junit ]] || record fail "ctest.$1.$2" "ctest ended with $status" crash
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
  [[ -s $results/bpf.xml ]] || record fail bpf "bpf_tests ended with $status" crash
}

stage_e2e() {
  built ci oomwitness || return
  /usr/bin/python3 "$tree/tests/e2e/run.py" --binary "$build/userspace/oomwitness" --junit "$results/e2e.xml"
  local status=$?
  [[ -s $results/e2e.xml && $status -le 1 ]] || record fail e2e "the runner ended with $status" crash
}

# run_folder NAME: the tests of a folder of tests/.
run_folder() {
  /usr/bin/python3 "$tree/tests/e2e/run.py" --folder "$tree/tests/$1" --binary "$build/userspace/oomwitness" \
    --junit "$results/$1.xml"
  local status=$?
  [[ -s $results/$1.xml && $status -le 1 ]] || record fail "$1" "the runner ended with $status" crash
}

# Programs that are read while they live.
stage_living() { built ci oomwitness && run_folder living; }

# Those that the daemon talks to.
stage_peers() { built ci oomwitness && run_folder peers; }

# The pages in a real browser. Their screenshots stay in build/web-screenshots.
stage_web() { built ci oomwitness && run_folder web; }

# Containers that attack the daemon.
stage_hostile() { built ci oomwitness && run_folder hostile; }

# Rules, dashboard, unit, package and manifests, as they are shipped.
stage_deploy() { built ci oomwitness && run_folder deploy; }

# The manifests as they are shipped, on a real Kubernetes.
stage_cluster() {
  has_time cluster 600 && built ci oomwitness || return
  run_folder cluster
  local left
  left=$("$tree/tests/cluster/kube/node.sh" leftovers | paste -sd' ')
  if [[ -z $left ]]; then
    record pass cluster.leaves_nothing
  else
    record fail cluster.leaves_nothing "left on this machine: $left" lost
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
    *) [[ -s $results/cluster-vm.xml && $status -le 1 ]] || record fail cluster-vm "the VM ended with $status" late ;;
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
  compgen -G "$results/vm.*[0-9t].xml" >/dev/null || record fail vm "no results of any kernel" crash
}

# The package on a Debian whose process 1 is systemd.
stage_systemd() {
  if ((EUID != 0)); then
    record skip systemd "not root: the VM reads files that only root may"
    return
  fi
  has_time systemd 600 && built ci oomwitness || return
  "$tree/tests/systemd/suite.sh" --results "$results"
}

stage_fuzz() {
  has_time fuzz 900 && built asan fuzzers || return
  "$tree/tests/fuzzing.py" --build "$tree/build/asan" --results "$results" --seconds "$fuzz_seconds" --jobs "$CTEST_PARALLEL_LEVEL"
}

stage_sanitizers() {
  local preset
  for preset in asan tsan; do
    say "$preset"
    has_time "$preset" 900 && built "$preset" unit_tests pipeline_tests && run_ctest "$preset" "unit|pipeline"
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

# What a test that is run by its name needs.
build_for_hunt() {
  case "${hunt[*]}" in
    *" ci: "*) built ci unit_tests pipeline_tests ;;
    *" asan: "*) built asan unit_tests pipeline_tests ;;
    *" tsan: "*) built tsan unit_tests pipeline_tests ;;
    *" bpf: "*) built ci bpf_tests ;;
    *) built ci oomwitness bpf_tests ;;
  esac
}

main() {
  parse "$@"
  mkdir -p "$CCACHE_DIR"
  # Half a second when everything is there; names what is missing when it may not install it.
  "$tree/deploy/install-deps.sh" tests || exit 1
  if ((${#hunt[@]})); then
    build_for_hunt && "$tree/tests/rerun.py" "${hunt[@]}"
    return
  fi
  local stage
  for stage in unit pipeline matrix bpf e2e living peers web hostile deploy cluster cluster-vm vm systemd fuzz sanitizers bench; do
    wants "$stage" || continue
    say "$stage"
    case $stage in
      # A failed stage is in the results; the next one runs all the same.
      unit | pipeline) stage_ctest "$stage" || true ;;
      *) "stage_$stage" || true ;;
    esac
  done
  say "results"
  "$tree/tests/rerun.py" "$results" --until "$((limit_seconds + rerun_seconds - SECONDS))" || true
  "$tree/tests/summary.py" "$results"
  ((!is_whole)) || "$tree/tests/fuzzing.py" --note-green
}

main "$@"
