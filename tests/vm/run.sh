#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh KERNEL COMMAND...: runs COMMAND as root on another kernel, in a VM that sees this machine's files
# and whose writes are thrown away. Its output is ours, its exit status too; 3: no such VM here (the reason
# is on stderr); 70: the VM broke, its console follows. KERNEL: 5.10 | 6.1 | 6.12 | newest. Settings: README.md.
set -euo pipefail

(($# >= 2)) || { sed -n '3,5s/^# *//p' "$0" >&2; exit 2; }
kernel=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
memory=${OOMW_VM_MEMORY_MB:-3072} deadline_s=${OOMW_VM_DEADLINE_S:-900} cpus=${OOMW_VM_CPUS:-2}
swap=${OOMW_VM_SWAP_MB:-0} out=${OOMW_VM_OUT-} disk=${OOMW_VM_DISK-} init=${OOMW_VM_INIT:-$here/init}
passed_on=(HOME OOMW_CACHE OOMWITNESS OOMW_TIME_FACTOR) # of our environment
work=$(mktemp -d "${TMPDIR:-/tmp}/oomw-vm.XXXXXX")
virtiofsd_pids=() qemu_pid="" devices=() parameters=""

# shellcheck disable=SC2317 # called by the trap
end_all() {
  local pid
  for pid in $qemu_pid "${virtiofsd_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap end_all EXIT
trap 'exit 130' INT TERM

skip() {
  echo "vm $kernel: $1" >&2
  exit 3
}

virtiofsd=$(PATH=$PATH:/usr/lib/qemu:/usr/libexec command -v virtiofsd) || skip "no virtiofsd (package qemu-system-common)"
command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64 (package qemu-system-x86)"
busybox --list 2>/dev/null | grep -x insmod >/dev/null || skip "no busybox (package busybox-static)"
((EUID == 0)) || skip "not root: the VM reads files that only root may"
folder=$("$here/kernel.sh" "$kernel") || exit $?

write_script() { # what the VM's init runs
  local name
  for name in "${passed_on[@]}"; do
    [[ -z ${!name-} ]] || printf 'export %s=%q\n' "$name" "${!name}"
  done
  printf 'cd %q\n' "$PWD"
  printf '%q ' "$@"
  echo
}

# share TAG FOLDER CACHING. No CAP_SYS_RESOURCE is needed without a limit of its own on open files.
share() {
  local socket=$work/$1
  "$virtiofsd" --socket-path="$socket" --rlimit-nofile=0 -o source="$2" -o cache="$3" -o sandbox=chroot \
    >"$work/virtiofsd-$1.log" 2>&1 &
  virtiofsd_pids+=($!)
  devices+=(-chardev "socket,id=$1,path=$socket" -device "vhost-user-fs-pci,chardev=$1,tag=$1")
  for _ in {1..100}; do
    [[ -S $socket ]] && return
    sleep 0.05
  done
  cat "$work/virtiofsd-$1.log" >&2
  skip "virtiofsd does not start"
}

# A sparse file: only what the guest swaps out takes room.
add_swap() {
  PATH=$PATH:/usr/sbin:/sbin command -v mkswap >/dev/null || skip "no mkswap (package util-linux)"
  truncate -s "$swap"M "$work/swap"
  PATH=$PATH:/usr/sbin:/sbin mkswap "$work/swap" >/dev/null 2>&1
  # shellcheck disable=SC2054 # the commas are QEMU's
  devices+=(-drive "file=$work/swap,if=none,id=swap,format=raw,cache=unsafe" -device virtio-blk-pci,drive=swap)
  parameters+=" OOMW_SWAP=1"
}

# TCG on purpose: nested virtualisation hangs on some machines, and a boot takes 5 s without it.
# Without cx16: QEMU 7.2 leaves rubbish in EFLAGS after a cmpxchg16b, of which 6.12 dies now and then. Without erms: the
# kernel and libc would clear and copy pages byte by byte, a quarter of all time. Without smap: 5 % more.
# Without the timer's check: on a busy host the first ticks come too late for it, and the kernel gives up (seen on 6.1).
# Output goes through cat: QEMU opens its standard output anew, which truncates a file.
boot() {
  timeout "$deadline_s" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,-cx16,-erms,-smap -smp "$cpus" -m "$memory" -display none \
    -nodefaults -no-reboot -monitor none -kernel "$folder/vmlinuz" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off init_on_alloc=0 audit=0 apparmor=0 nowatchdog \
no_timer_check random.trust_cpu=on cryptomgr.notests$parameters" \
    -serial file:"$work/console" -serial file:/dev/stdout -serial file:"$work/status" \
    -fw_cfg name=opt/script,file="$work/script" \
    "${devices[@]}" \
    -object memory-backend-memfd,id=memory,size="$memory"M,share=on -numa node,memdev=memory </dev/null > >(cat) &
  qemu_pid=$!
  wait "$qemu_pid" || true
  wait
}

# In the kernel's eyes the first disk: /dev/vda.
add_disk() {
  # shellcheck disable=SC2054 # the commas are QEMU's
  devices+=(-drive "file=$disk,if=none,id=disk,format=raw,snapshot=on,cache=unsafe" -device virtio-blk-pci,drive=disk)
}

"$here/initrd.sh" "$folder" "$work/initrd" "$init"
write_script "$@" >"$work/script"
share host / always
if [[ -n $out ]]; then
  share out "$out" none
  parameters+=" OOMW_OUT=1"
fi
[[ -z $disk ]] || add_disk
((swap == 0)) || add_swap
boot
status=$(tr -d '\r\n' <"$work/status" 2>/dev/null || true)
if [[ ! $status =~ ^[0-9]+$ ]]; then
  echo "vm $kernel ($(cat "$folder/release")): ended without a status; its console:" >&2
  (sed -n '/BUG:\|Oops\|general protection\|cut here/,$p' "$work/console" | grep . || tail -n 20 "$work/console") | head -n 60 >&2
  exit 70
fi
exit "$status"
