#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to witnessed OOM kills: installs what is missing, builds, starts the
# tracer, lets a Go service and a Python program leak until they are killed, shows the answers.
#   sudo deploy/quickstart.sh [--data-dir DIR] [--build-dir DIR] [--binary FILE]
# The incidents stay in the data directory (default /var/tmp/oomwitness-quickstart); all else goes.
# --binary skips the build.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}
data_dir=/var/tmp/oomwitness-quickstart build_dir=$tree/build/release binary='' work='' daemon_pid=''
cgroups=() programs=() # the programs' process ids

usage() {
  sed -n '5,7s/^# *//p' "${BASH_SOURCE[0]}" >&2
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
  local cgroup pid
  for pid in "${programs[@]}" $daemon_pid; do end_pid "$pid"; done
  for cgroup in "${cgroups[@]}"; do
    # What is still in it was started by our programs. A busy machine takes its time to let the killed ones go.
    for _ in {1..150}; do
      rmdir "$cgroup" 2>/dev/null && break
      while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$cgroup/cgroup.procs" 2>/dev/null || true
      sleep 0.1
    done
    [[ ! -d $cgroup ]] || echo "quickstart: could not remove $cgroup: $(rmdir "$cgroup" 2>&1); in it: $(paste -sd ' ' "$cgroup/cgroup.procs" 2>&1)" >&2
  done
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

# Each tenth of "[7/84] Building ..."
show_progress() {
  awk -F '[][/]' '/^\[[0-9]+\/[0-9]+\]/ && $3 > 0 && int($2 * 10 / $3) > tenth { tenth = int($2 * 10 / $3); printf "    %d of %d\n", $2, $3; fflush() }'
}

build() {
  say "Building (the first time takes a few minutes)"
  export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
  if ! { cmake -S "$tree" --preset release -B "$build_dir" &&
    cmake --build "$build_dir" --target oomwitness -j "$(nproc)"; } 2>&1 | tee "$work/build.log" | show_progress; then
    tail -n 30 "$work/build.log" >&2
    die "the build failed"
  fi
  binary=$build_dir/userspace/oomwitness
}

build_service() {
  (cd "$tree/tests/workloads/service-go" &&
    GOCACHE=$cache/go-build GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local go build -o "$work/reports-service" .) ||
    die "the leaky service did not build"
}

# make_cgroup NAME LIMIT_MIB: its path is in $cgroup.
make_cgroup() {
  cgroup=$cgroup_root/oomwitness-quickstart-$$-$1
  mkdir "$cgroup" || die "cannot make a memory cgroup in $cgroup_root"
  cgroups+=("$cgroup")
  if ((cgroup_version == 1)); then
    echo "${2}M" >"$cgroup/memory.limit_in_bytes"
    [[ ! -e $cgroup/memory.memsw.limit_in_bytes ]] || echo "${2}M" >"$cgroup/memory.memsw.limit_in_bytes"
    return
  fi
  [[ -e $cgroup/memory.max ]] || die "cgroup v2 without the memory controller for children of $cgroup_root"
  echo "${2}M" >"$cgroup/memory.max"
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
  # Another daemon of this machine may have the ports of the pages and metrics.
  local options=(--data-dir "$data_dir" --metrics-listen "127.0.0.1:$port" --web-listen off)
  say "oomwitness run ${options[*]}"
  # Its lines for a human about our programs go to this terminal as they come, its log only on failure.
  "$binary" run "${options[@]}" \
    > >(sed -un "/WATCHING\|oomwitness-quickstart-$$/s/^/    /p") 2>"$work/daemon.log" &
  daemon_pid=$!
  wait_for "the tracer is ready" 30 fetch /readyz
}

# start COMMAND...: in $cgroup, in a network namespace of its own.
start() {
  # The single-quoted script is for the inner shell. Every step replaces itself: $! is the program.
  # shellcheck disable=SC2016
  OOMW_PROCS=$cgroup/cgroup.procs unshare -n sh -c \
    'ip link set lo up && echo $$ >"$OOMW_PROCS" && exec "$@"' sh "$@" >>"$work/programs.log" 2>&1 &
  programs+=($!)
}

wait_until_killed() {
  local pid status
  say "Each of them grows until the kernel kills it, in a minute or so"
  for pid in "${programs[@]}"; do
    status=0
    wait "$pid" 2>/dev/null || status=$?
    ((status == 137)) || die "a program ended with status $status instead of being killed: $(tail -n 3 "$work/programs.log")"
  done
  programs=()
}

start_go() {
  local limit_mib=128
  say "A Go web service, limit ${limit_mib} MiB: five endpoints, one of which never gives back what it keeps"
  make_cgroup go "$limit_mib"
  # Slow enough for the garbage collections that distinguish a leak from a sudden growth.
  start "$work/reports-service" -pause 60ms
}

start_python() {
  local limit_mib=96
  say "A Python program, limit ${limit_mib} MiB: a dictionary of sessions that nothing ever leaves"
  make_cgroup python "$limit_mib"
  cat >"$work/sessions.py" <<'END'
import time

sessions = {}


def log_in(number):
    sessions[number] = {"user": f"user-{number}", "history": [f"page-{i}-{number}" for i in range(60)]}


number = 0
while True:
    for _ in range(20):
        number += 1
        log_in(number)
        "".join(str(i) for i in range(400))  # garbage, as every request leaves some
    time.sleep(0.04)
END
  start python3 "$work/sessions.py"
}

# find_incident go|python: its directory is named after the cgroup, which is named after this run.
find_incident() {
  incident=$(find "$data_dir/incidents" -mindepth 1 -maxdepth 1 -type d -name "*oomwitness-quickstart-$$-$1*" ! -name '.*' \
    2>/dev/null | head -n 1)
  [[ -n $incident ]]
}

# What is read of a victim's memory may join an incident after its first writing; on a busy disk that takes seconds.
is_settled() {
  find_incident "$1" && [[ -z $(find "$incident" -newermt '2 seconds ago' -print -quit) ]]
}

show_incident() {
  wait_for "the incident of the $1 program" 60 is_settled "$1"
  local id
  id=$(basename "$incident")
  say "oomwitness show ${id##*-}"
  "$binary" show "${id##*-}" --data-dir "$data_dir"
}

show_result() {
  show_incident go
  if ! compgen -G "$incident/capture-*.pb.gz" >/dev/null; then
    echo "quickstart: this incident has no heap profile; its report names the reason" >&2
  fi
  show_incident python
  say "oomwitness incidents"
  "$binary" incidents --data-dir "$data_dir"
}

say_how_to_go_on() {
  say "Done: the incidents stay in $data_dir (rm -r removes them)"
  cat <<END
What the reports call oomwitness is $binary until it is installed. Look again:
    sudo $binary incidents --data-dir $data_dir
    sudo $binary show ${incident##*-} --data-dir $data_dir --full
END
  # Versions without the page have no such command.
  if "$binary" help web >/dev/null 2>&1; then
    cat <<END
In a browser, at the address that it prints:
    sudo $binary web --data-dir $data_dir
END
  fi
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
  mkdir -p "$data_dir"
  data_dir=$(cd "$data_dir" && pwd)
  "$tree/deploy/install-deps.sh" quickstart >"$work/install.log" 2>&1 || {
    tail -n 20 "$work/install.log" >&2
    die "installing packages failed"
  }
  [[ -n $binary ]] || build
  [[ -x $binary ]] || die "no executable at $binary"
  build_service
  start_tracer
  start_go
  start_python
  wait_until_killed
  show_result
  say_how_to_go_on
}

main "$@"
