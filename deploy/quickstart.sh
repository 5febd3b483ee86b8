#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a witnessed OOM kill: installs what is missing, builds, starts the
# tracer, lets a leaky Go service run into its memory limit, shows the evidence, cleans up.
#   sudo deploy/quickstart.sh [--data-dir DIR] [--build-dir DIR] [--binary FILE]
# --data-dir keeps the result; without it everything goes. --binary skips the build.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}
data_dir='' build_dir=$tree/build/release binary='' work='' cgroup='' daemon_pid='' service_pid=''
limit_mib=256 rate_mb=50

usage() {
  sed -n '5,6s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

die() {
  echo "quickstart: $*" >&2
  exit 1
}

say() { printf '\n== %s\n' "$*"; }

parse() {
  while (($# > 0)); do
    (($# >= 2)) || usage
    case $1 in
      --data-dir) data_dir=$2 ;;
      --build-dir) build_dir=$2 ;;
      --binary) binary=$2 ;;
      *) usage ;;
    esac
    shift 2
  done
}

# Only what this run started and made, by number and by path.
end_pid() {
  local pid=$1 tries=0
  [[ -n $pid ]] || return 0
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null && ((tries++ < 100)); do sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

cleanup() {
  local status=$?
  trap - EXIT INT TERM
  end_pid "$service_pid"
  end_pid "$daemon_pid"
  if [[ -n $cgroup ]]; then
    for _ in {1..50}; do
      rmdir "$cgroup" 2>/dev/null && break
      sleep 0.1
    done
    [[ ! -d $cgroup ]] || echo "quickstart: could not remove $cgroup" >&2
  fi
  if ((status != 0)) && [[ -s $work/daemon.log ]]; then
    echo "-- the tracer's log:" >&2
    tail -n 20 "$work/daemon.log" >&2
  fi
  [[ -z $work ]] || rm -rf "$work"
  exit "$status"
}

check_host() {
  ((EUID == 0)) || die "needs root: it loads BPF programs and makes a memory cgroup (try: sudo $0)"
  [[ $(uname -s) == Linux ]] || die "needs Linux"
  if [[ -d /sys/fs/cgroup/memory ]]; then
    cgroup_version=1 cgroup_root=/sys/fs/cgroup/memory
  elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
    cgroup_version=2 cgroup_root=/sys/fs/cgroup
  else
    die "this kernel shows no memory cgroup controller in /sys/fs/cgroup"
  fi
  [[ -r /sys/kernel/btf/vmlinux ]] || echo "quickstart: no BTF in this kernel: the tracer will work from files alone" >&2
  unshare -n true 2>/dev/null || die "this kernel or container refuses a network namespace (unshare -n)"
}

build() {
  say "Building (the first time takes a few minutes)"
  export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
  if ! { cmake -S "$tree" --preset release -B "$build_dir" &&
    cmake --build "$build_dir" --target oomwitness; } >"$work/build.log" 2>&1; then
    tail -n 30 "$work/build.log" >&2
    die "the build failed"
  fi
  binary=$build_dir/userspace/oomwitness
}

build_service() {
  mkdir -p "$cache/workloads"
  (cd "$tree/tests/workloads/leaky-go" &&
    GOCACHE=$cache/go-build GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local go build -o "$work/leaky-go" .) ||
    die "the leaky service did not build"
}

make_cgroup() {
  cgroup=$cgroup_root/oomwitness-quickstart-$$
  mkdir "$cgroup" || { cgroup=''; die "cannot make a memory cgroup in $cgroup_root"; }
  if ((cgroup_version == 1)); then
    echo "${limit_mib}M" >"$cgroup/memory.limit_in_bytes"
    return
  fi
  [[ -e $cgroup/memory.max ]] || die "cgroup v2 without the memory controller for children of $cgroup_root"
  echo "${limit_mib}M" >"$cgroup/memory.max"
  [[ ! -e $cgroup/memory.swap.max ]] || echo 0 >"$cgroup/memory.swap.max"
}

fetch() { curl --silent --fail --noproxy '*' --max-time 5 "http://127.0.0.1:$port$1"; }

wait_for() { # what, seconds, command...
  local what=$1 tries=$(($2 * 20))
  shift 2
  until "$@" >/dev/null 2>&1; do
    kill -0 "$daemon_pid" 2>/dev/null || die "the tracer ended"
    ((tries-- > 0)) || die "not in time: $what"
    sleep 0.05
  done
}

free_port() {
  for port in {19435..19534}; do
    [[ -n $(ss -Hltn "sport = :$port") ]] || return 0
  done
  die "no free port between 19435 and 19534"
}

start_tracer() {
  free_port
  say "oomwitness run --data-dir $data_dir --metrics-listen 127.0.0.1:$port"
  # Its lines for a human go to this terminal as they come, its log only on failure.
  "$binary" run --data-dir "$data_dir" --metrics-listen "127.0.0.1:$port" \
    > >(sed -u 's/^/    /') 2>"$work/daemon.log" &
  daemon_pid=$!
  wait_for "the tracer is ready" 30 fetch /readyz
}

run_service() {
  say "A leaky Go service: ${rate_mb} MB/s, limit ${limit_mib} MiB, pprof on 127.0.0.1:1777 in its own network namespace"
  # The single-quoted script is for the inner shell. Every step replaces itself: $! is the service.
  # shellcheck disable=SC2016
  OOMW_PROCS=$cgroup/cgroup.procs unshare -n sh -c \
    'ip link set lo up && echo $$ >"$OOMW_PROCS" && exec "$@"' sh "$work/leaky-go" -rate "$rate_mb" >"$work/service.log" 2>&1 &
  service_pid=$!
  local status=0
  wait "$service_pid" 2>/dev/null || status=$?
  service_pid=''
  ((status == 137)) || die "the service ended with status $status instead of being killed: $(tail -n 3 "$work/service.log")"
}

# The incident's directory is named after the cgroup, which is named after this run.
find_incident() {
  incident=$(find "$data_dir/incidents" -mindepth 1 -maxdepth 1 -type d -name "*oomwitness-quickstart-$$*" ! -name '.*' 2>/dev/null | head -n 1)
  [[ -n $incident ]]
}

show_result() {
  wait_for "the incident" 60 find_incident
  say "oomwitness show $(basename "$incident")"
  "$binary" show "$(basename "$incident")" --data-dir "$data_dir"
  local capture
  capture=$(find "$incident" -name 'capture-*.pb.gz' | sort | tail -n 1)
  if [[ -n $capture ]]; then
    say "go tool pprof -top $(basename "$capture")"
    PPROF_TMPDIR=$work go tool pprof -top -nodecount=10 "$capture" 2>&1
  else
    echo "quickstart: the incident has no capture; its report names the reason" >&2
  fi
  say "What Prometheus scrapes"
  fetch /metrics | grep -E "^oomwitness_(oom_kills_total.*quickstart-$$|captures_total\{.*\} [1-9])" || true
}

say_how_to_go_on() {
  say "Done"
  [[ $data_dir == "$work"/* ]] || echo "The incident is kept in $incident"
  cat <<END
To run for real:
    sudo install -m 755 $binary /usr/local/bin/oomwitness
    sudo oomwitness doctor      # what works on this node, and why not the rest
    sudo oomwitness run         # incidents in /var/lib/oomwitness, metrics on 127.0.0.1:9435
END
}

main() {
  parse "$@"
  trap cleanup EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  check_host
  work=$(mktemp -d "${TMPDIR:-/tmp}/oomwitness-quickstart.XXXXXX")
  if [[ -z $data_dir ]]; then data_dir=$work/data; fi
  mkdir -p "$data_dir"
  data_dir=$(cd "$data_dir" && pwd)
  "$tree/deploy/install-deps.sh" quickstart >"$work/install.log" 2>&1 || {
    tail -n 20 "$work/install.log" >&2
    die "installing packages failed"
  }
  [[ -n $binary ]] || build
  [[ -x $binary ]] || die "no executable at $binary"
  build_service
  make_cgroup
  start_tracer
  run_service
  show_result
  say_how_to_go_on
}

main "$@"
