#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tests that every change must pass, on this machine:  sudo tests/run.sh [--all | --only STAGE...]
#   --all   these (the gate), then the rest, the stage that was not run for longest first, as far as OOMW_LIMIT_SECONDS allow
#   STAGE   of the gate: unit pipeline bpf e2e hostile deploy parsers threads; of the rest: matrix e2e-rest hostile-rest living
#           cases peers web newcomer cluster vm languages systemd fuzz asan tsan alone; only on demand: cluster-vm bench
# One test, to hunt a flake:  sudo tests/run.sh --name NAME [--times N] [--under-load], NAME as a failed: or flaky: line has it
# A line a stage; what a stage printed is in build/logs, and here if one of its tests failed. Failures are run again alone, as
# their class allows (rerun.py). Ends with the skipped tests and their reasons, what failed, what was flaky, then one line
# "N passed, N failed, N skipped"; exit status 1 if anything failed. OOMW_CACHE holds ccache, Go builds, downloads, times, flakes.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export OOMW_CACHE=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}
# Without the working folder in the hash, any clone is served by what another one compiled.
export CCACHE_DIR=${CCACHE_DIR:-$OOMW_CACHE/ccache} CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-2}
gate=(unit pipeline bpf e2e hostile deploy parsers threads)
rest=(matrix e2e-rest hostile-rest living cases peers web newcomer cluster vm languages systemd fuzz asan tsan alone)
on_demand=(cluster-vm bench) # minutes of two emulated CPUs; bars that need a quiet machine
# Seconds that a stage of the rest may need on 2 cores with nothing cached.
declare -A needs=([matrix]=400 [e2e-rest]=1500 [hostile-rest]=300 [living]=500 [cases]=700 [peers]=600 [web]=200 [newcomer]=250 [cluster]=1000
  [vm]=1000 [languages]=900 [systemd]=500 [fuzz]=800 [asan]=800 [tsan]=800 [alone]=1800)
fuzz_seconds=${OOMW_FUZZ_SECONDS:-10}
limit_seconds=${OOMW_LIMIT_SECONDS:-4800} # a run that is cut off at 90 minutes has no results at all
rerun_seconds=300 # after that, for failures that are run again
build=$tree/build/ci
logs=$tree/build/logs
all_results=$(mktemp -d "${TMPDIR:-/tmp}/oomw-results.XXXXXX")
results='' # of the running stage: $all_results/gate/STAGE or $all_results/rest/STAGE

hunt=() # --name and its options, for rerun.py

trap 'rm -rf "$all_results"' EXIT

usage() {
  sed -n '3,7s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

is_one_of() {
  local wanted=$1 one
  shift
  for one in "$@"; do [[ $one != "$wanted" ]] || return 0; done
  return 1
}

is_whole=1 is_all=0 only=()
parse() {
  while (($# > 0)); do
    case $1 in
      --all) is_all=1 && shift && continue ;;
      --under-load) hunt+=("$1") && shift && continue ;;
      --name | --times | --only) (($# >= 2)) || usage ;;
      *) usage ;;
    esac
    if [[ $1 == --only ]]; then
      is_one_of "$2" "${gate[@]}" "${rest[@]}" "${on_demand[@]}" || usage
      only+=("$2")
    else
      hunt+=("$1" "$2")
    fi
    shift 2
  done
  ((${#only[@]} == 0)) || is_whole=0
  ((${#hunt[@]} == 0)) || [[ " ${hunt[*]} " == *" --name "* ]] || usage
}

# A result that no test framework writes: record pass|fail|skip NAME [REASON [CLASS]]; CLASS of a failure: outcomes.py.
record() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${3:-}" "${4:-}" >>"$results/plain.tsv"; }

needs_root() {
  ((EUID != 0)) || return 0
  record skip "$1" "not root: $2"
  return 1
}

# built PRESET TARGET...: configures and builds; a failure is a result, the log its reason. Nothing is tested meanwhile.
build_seconds=0
built() {
  local preset=$1 began=$SECONDS status=0
  shift
  { cmake -S "$tree" --preset "$preset" && cmake --build "$tree/build/$preset" --target "$@" -- -k 0; } \
    >"$logs/build.$preset.$1" 2>&1 || status=1
  ((build_seconds += SECONDS - began)) || true
  ((status)) || return 0
  tail -n 60 "$logs/build.$preset.$1"
  record fail "build.$preset.$1" "does not build: $(grep -m 1 -E 'error:|FAILED:' "$logs/build.$preset.$1" | tr '\t' ' ' | cut -c 1-300 || true)" build
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

# run_folder NAME [OPTION...]: the tests of a folder of tests/, by e2e/run.py.
run_folder() {
  local folder=$1
  shift
  built ci oomwitness || return
  /usr/bin/python3 "$tree/tests/e2e/run.py" --folder "$tree/tests/$folder" --binary "$build/userspace/oomwitness" \
    --junit "$results/$folder.xml" "$@"
  local status=$?
  [[ -s $results/$folder.xml && $status -le 1 ]] || record fail "$folder" "the runner ended with $status" crash
}

# One stage: a function of its name below, or the folder of its name.
run_stage() {
  case $1 in
    unit | pipeline) built ci "$1_tests" && run_ctest ci "$1" ;;
    # The readers of Go heaps against several Go versions; each toolchain that cannot be had is skipped.
    matrix) built ci unit_tests && run_ctest ci matrix ;;
    e2e) run_folder e2e --gate --lanes 3 ;;
    e2e-rest) run_folder e2e --rest --lanes 3 ;;
    hostile) run_folder hostile --gate ;;
    hostile-rest) run_folder hostile --rest ;;
    living | cases | peers | web | newcomer | deploy) run_folder "$1" ;;
    asan | tsan) built "$1" unit_tests pipeline_tests && run_ctest "$1" "unit|pipeline" ;;
    # Each file as it stands by itself: the other presets compile two dozen as one.
    alone) built dev all ;;
    *) "stage_$1" ;;
  esac
}

stage_bpf() {
  needs_root bpf "BPF programs cannot be loaded" && built ci bpf_tests || return
  "$build/tests/bpf_tests" --gtest_brief=1 --gtest_output="xml:$results/bpf.xml"
  local status=$?
  [[ -s $results/bpf.xml ]] || record fail bpf "bpf_tests ended with $status" crash
}

# What reads foreign bytes, under asan and ubsan, and every input that ever failed.
stage_parsers() {
  built asan parser_tests fuzzers || return
  run_ctest asan parsers
  "$tree/tests/fuzzing.py" --build "$tree/build/asan" --results "$results" --seconds 0 --jobs "$CTEST_PARALLEL_LEVEL"
}

# The daemon's threads and the workers, under tsan.
stage_threads() { built tsan thread_tests && run_ctest tsan threads; }

stage_fuzz() {
  built asan fuzzers || return
  "$tree/tests/fuzzing.py" --build "$tree/build/asan" --results "$results" --seconds "$fuzz_seconds" --jobs "$CTEST_PARALLEL_LEVEL"
}

# The manifests as they are shipped, on a real Kubernetes.
stage_cluster() {
  run_folder cluster || return
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
  needs_root cluster-vm "the VM reads files that only root may" && built ci oomwitness || return
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
  needs_root vm "the VM reads files that only root may" && built ci oomwitness bpf_tests || return
  "$tree/tests/vm/suite.sh" --results "$results"
  compgen -G "$results/vm.*[0-9t].xml" >/dev/null || record fail vm "no results of any kernel" crash
}

# Public reports and a kill of each language on one kernel with cgroup v2 and fentry.
stage_languages() {
  needs_root languages "the VM reads files that only root may" && built ci oomwitness bpf_tests || return
  "$tree/tests/vm/suite.sh" --kernel 6.12 --part cases --part languages --results "$results"
  compgen -G "$results/vm.*.xml" >/dev/null || record fail languages "no results" crash
}

# The package on a Debian whose process 1 is systemd.
stage_systemd() {
  needs_root systemd "the VM reads files that only root may" && built ci oomwitness || return
  "$tree/tests/systemd/suite.sh" --results "$results"
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

# do_stage TIER STAGE: its line.
do_stage() {
  local tier=$1 stage=$2 began=$SECONDS
  results=$all_results/$tier/$stage build_seconds=0
  mkdir -p "$results"
  if [[ $tier == rest ]] && ((SECONDS + needs[$stage] > limit_seconds)); then
    record skip "$stage" "no time left: may need ${needs[$stage]} s more, and a run ends after $limit_seconds s (OOMW_LIMIT_SECONDS)"
    printf '%-13s no time left\n' "$stage"
    return
  fi
  # A failed stage is in the results; the next one runs all the same.
  run_stage "$stage" >"$logs/$stage" 2>&1 || true
  local seconds=$((SECONDS - began - build_seconds)) line
  "$tree/tests/times.py" note "$stage" "$seconds"
  line=$("$tree/tests/summary.py" --line "$results")
  [[ $line != *" 0 failed"* ]] && cat "$logs/$stage"
  printf '%-13s %s, %d s%s\n' "$stage" "$line" "$seconds" "$( ((build_seconds < 5)) || echo ", built in $build_seconds s")"
}

# What a test that is run by its name needs.
build_for_hunt() {
  results=$all_results
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
  mkdir -p "$CCACHE_DIR" "$logs"
  # Half a second when everything is there; names what is missing when it may not install it.
  "$tree/deploy/install-deps.sh" tests || exit 1
  if ((${#hunt[@]})); then
    build_for_hunt && "$tree/tests/rerun.py" "${hunt[@]}"
    return
  fi
  local stage first=("${gate[@]}") more=()
  if ((!is_whole)); then
    first=("${only[@]}")
    echo "${only[*]}: $("$tree/tests/times.py" say "${only[@]}")"
  else
    echo "The gate: ${gate[*]}: $("$tree/tests/times.py" say "${gate[@]}") and builds, 35 min of them when nothing is cached."
    mapfile -t more < <("$tree/tests/times.py" order "${rest[@]}")
    ((is_all)) || more=()
    echo "The rest (--all): ${more[*]:-${rest[*]}}: $("$tree/tests/times.py" say "${rest[@]}")"
  fi
  for stage in "${first[@]}"; do do_stage gate "$stage"; done
  for stage in "${more[@]}"; do do_stage rest "$stage"; done
  "$tree/tests/rerun.py" "$all_results" --until "$((limit_seconds + rerun_seconds - SECONDS))" || true
  "$tree/tests/summary.py" "$all_results"
  ((!is_whole)) || "$tree/tests/fuzzing.py" --note-green
}

main "$@"
