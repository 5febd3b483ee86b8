#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# node.sh FOLDER: mount and network namespaces and cgroups for one node of a cluster. Writes the pid of their first
# process to FOLDER/holder, the node's cgroup to FOLDER/cgroup, and to FOLDER/programs where its programs join a CPU share
# of their own; then waits until its standard input ends, which is also the case if whoever started it was killed. Then
# it ends everything in them and removes cgroups and FOLDER.
# node.sh leftovers: prints what earlier nodes left behind; nothing if all is well.
#
# The PID namespace is the machine's: a pod with hostPID has to see what the kernel sees.
set -euo pipefail

prefix=oomwcluster
if [[ -d /sys/fs/cgroup/memory ]]; then
  hierarchies=(/sys/fs/cgroup/{cpu,cpuacct,cpuset,memory,devices,freezer,blkio,pids,systemd,unified}/)
  cpu=/sys/fs/cgroup/cpu share=cpu.shares
else
  hierarchies=(/sys/fs/cgroup/)
  cpu=/sys/fs/cgroup share=cpu.weight
fi

usage() {
  sed -n '3,8s/^# *//p' "$0" >&2
  exit 2
}

leftovers() {
  find "${hierarchies[@]}" -maxdepth 1 -name "$prefix-*" 2>/dev/null || true
  grep -o "/[^ ]*${prefix}[^ ]*" /proc/self/mounts || true
  ip -o link show 2>/dev/null | grep -oE '\b(node0|cni0)\b' | sort -u || true
  local path
  # Kubelet and the others have FOLDER in their arguments.
  { grep -lsa "$prefix-" /proc/[0-9]*/cmdline || true; } | while read -r path; do
    tr '\0' ' ' <"$path" 2>/dev/null | grep -E "^[^ ]*(kube|etcd|containerd)[^ ]* " || true
  done
}

# Kubelet would set these for the whole machine. It reads what it wants to find instead.
hide_sysctls() {
  local name value
  while read -r name value; do
    mkdir -p "$folder/sysctl/$(dirname "$name")"
    echo "$value" >"$folder/sysctl/$name"
    mount --bind "$folder/sysctl/$name" "/proc/sys/$name"
  done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END
}

# Kubelet and containerd have fixed paths; here they are theirs alone.
make_mounts() {
  mount --make-rshared /
  echo "nameserver 127.0.0.1" >"$folder/resolv.conf" # with the machine's each look-up waits for an answer, 13 s in all
  mount --bind "$folder/resolv.conf" "$(readlink -f /etc/resolv.conf)"
  mount -t tmpfs -o mode=755 run /run
  mount -t tmpfs -o mode=755 var-lib /var/lib
  mkdir -p "$folder/log/pods" "$folder/oomwitness" /var/lib/oomwitness
  mount --bind "$folder/log" /var/log
  mount --bind "$folder/oomwitness" /var/lib/oomwitness
  hide_sysctls
}

# 10.96.0.1 is the address of the service `kubernetes`: on lo, the API server itself answers, without kube-proxy and
# iptables. Nothing is behind the default route; kubelet wants one. Without the unreachable one kubelet waits 14 s for
# a cloud's metadata.
make_network() {
  ip link set lo up
  ip addr add 10.96.0.1/32 dev lo
  ip link add node0 type bridge
  ip addr add 10.77.0.2/24 dev node0
  ip link set node0 up
  ip route add unreachable 169.254.0.0/16
  ip route add default via 10.77.0.1 dev node0
  echo 1 >/proc/sys/net/ipv4/ip_forward # of this namespace
}

make_cgroups() {
  local hierarchy file controller
  for hierarchy in "${hierarchies[@]}"; do
    [[ ! -d $hierarchy ]] || mkdir "$hierarchy$cgroup"
  done
  for file in /sys/fs/cgroup/cpuset/cpuset.{cpus,mems}; do # v1: without them no process can join
    [[ ! -f $file ]] || cat "$file" >"/sys/fs/cgroup/cpuset/$cgroup/$(basename "$file")"
  done
  for controller in cpuset cpu io memory pids hugetlb; do # v2; what there is not is refused
    for file in /sys/fs/cgroup/cgroup.subtree_control "/sys/fs/cgroup/$cgroup/cgroup.subtree_control"; do
      [[ ! -f $file ]] || echo "+$controller" 2>/dev/null >"$file" || true
    done
  done
  # A node has its machine for itself. The API server needs 4 CPU seconds to start, which beside compilers are 15.
  mkdir "$cpu/$cgroup/programs"
  echo 8192 >"$cpu/$cgroup/$share"
  echo "$cpu/$cgroup/programs/cgroup.procs" >"$folder/programs"
}

pids_in_namespace() {
  find /proc/[0-9]*/ns/mnt -maxdepth 0 -printf '%l %p\n' 2>/dev/null | grep -F "$namespace " | cut -d/ -f3
}

# NAMES: those with such a comm, or all. Fails once there are none. One process for all of /proc: 300 would take seconds
# where others compile.
kill_in_namespace() {
  local pid found=1
  [[ $namespace ]] || return 1
  for pid in $(pids_in_namespace); do
    [[ -z $1 ]] || grep -qxE "$1" "/proc/$pid/comm" 2>/dev/null || continue
    found=0
    kill -KILL "$pid" 2>/dev/null || true
  done
  return "$found"
}

kill_in_cgroups() {
  find "${hierarchies[@]/%/$cgroup}" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | xargs -r kill -KILL 2>/dev/null || true
}

# Fails while there are some.
remove_cgroups() {
  find "${hierarchies[@]/%/$cgroup}" -depth -type d -exec rmdir {} + 2>/dev/null || true
  local hierarchy
  for hierarchy in "${hierarchies[@]}"; do
    [[ ! -d $hierarchy$cgroup ]] || return 1
  done
}

# shellcheck disable=SC2317 # called by the trap
end_all() {
  trap '' INT TERM HUP
  disown -a # bash would report the end of each
  # Kubelet first: it would start anew what is killed next.
  kill_in_namespace 'kubelet|kube-.*' || true
  local _
  for _ in {1..200}; do
    kill_in_cgroups
    kill_in_namespace '' || ! remove_cgroups || break
    sleep 0.1
  done
  rm -rf "$folder"
}

(($# == 1)) || usage
[[ $1 != leftovers ]] || { leftovers; exit; }
folder=$1 namespace=""
if [[ ${OOMW_NODE_INSIDE-} ]]; then
  make_mounts
  make_network
  echo $$ >"$folder/holder.new"
  mv "$folder/holder.new" "$folder/holder"
  exec sleep infinity
fi
cgroup=$prefix-$$
trap end_all EXIT
trap 'exit 130' INT TERM HUP
make_cgroups
echo "/$cgroup" >"$folder/cgroup"
OOMW_NODE_INSIDE=1 unshare --net --mount --propagation private "$0" "$folder" </dev/null &
holder=$!
# Before unshare has made one, it is the machine's: nothing must be ended by that.
while namespace=$(readlink "/proc/$holder/ns/mnt") && [[ $namespace == "$(readlink /proc/self/ns/mnt)" ]]; do
  namespace=""
  sleep 0.01
done
cat <&0 >/dev/null &
wait -n "$holder" $! || true
