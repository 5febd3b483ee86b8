#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh DEB: prints the path of a Debian 12 disk image (ext4) with systemd and everything that DEB depends on, but
# not DEB itself; exits 3 with the reason on stderr where it cannot be had.
#
# Made once for this script, packages.txt and DEB's dependencies, below ${OOMW_CACHE:-~/.cache/oomwitness}/systemd. Nobody
# writes to it: a VM's writes are thrown away.
set -euo pipefail

deb=${1:?usage: image.sh DEB}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../support/private_apt.sh
source "$here/../support/private_apt.sh"
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/systemd
size_mb=1024 # sparse: some 250 MiB are used
# Waited for by nobody here, and each costs seconds on an emulated CPU.
masked=(systemd-modules-load.service systemd-random-seed.service systemd-remount-fs.service
  apt-daily-upgrade.timer apt-daily.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service
  fstrim.timer getty-static.service getty@tty1.service serial-getty@ttyS0.service systemd-pcrphase.service
  systemd-pstore.service systemd-update-utmp-runlevel.service systemd-update-utmp.service systemd-firstboot.service
  systemd-machine-id-commit.service systemd-network-generator.service systemd-sysusers.service dev-hugepages.mount
  dev-mqueue.mount sys-kernel-debug.mount sys-kernel-config.mount sys-fs-fuse-connections.mount
  proc-sys-fs-binfmt_misc.automount modprobe@configfs.service modprobe@drm.service modprobe@fuse.service
  modprobe@efi_pstore.service modprobe@dm_mod.service modprobe@loop.service)

give_up() {
  echo "systemd image: $1" >&2
  exit 3
}

# Names without versions: an upgrade within Debian 12 needs no new image, and a missing dependency fails at installation.
dependencies() { dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g' | tr ',' '\n' | tr -d ' ' | sort; }

packages() { { sed '/^#/d' "$here/packages.txt" && dependencies; } | sort -u; }

make_root() { # $1: the folder to be
  mmdebstrap --quiet --mode=root --variant=minbase --include="$(packages | paste -sd,)" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm "$1" "$mirror"
}

settle() { # the root in folder $1
  local unit
  echo oomw-systemd >"$1/etc/hostname"
  echo 127.0.0.1 localhost oomw-systemd >"$1/etc/hosts"
  # Made up, so that the first boot is none: systemd then presets no units.
  echo 0123456789abcdef0123456789abcdef >"$1/etc/machine-id"
  : >"$1/etc/fstab"
  # Nothing here is for a generator to find, and each is run anew at every daemon-reload.
  mkdir -p "$1/etc/systemd/system-generators"
  for unit in "$1"/lib/systemd/system-generators/*; do
    ln -s /dev/null "$1/etc/systemd/system-generators/$(basename "$unit")"
  done
  echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/thrown-away"
  for unit in "${masked[@]}"; do ln -sf /dev/null "$1/etc/systemd/system/$unit"; done
  ln -sf /lib/systemd/system/multi-user.target "$1/etc/systemd/system/default.target"
  mkdir -p "$1/host"
  chroot "$1" useradd --uid 1000 --create-home alice
}

# Without a journal and checksums: it is thrown away after each boot.
make_disk() { # FOLDER FILE
  mke2fs -q -t ext4 -O ^has_journal,^metadata_csum -E root_owner=0:0 -d "$1" "$2" "${size_mb}M"
}

key=$(cat "$0" <(packages) | sha256sum | cut -c1-16)
target=$cache/$key.ext4
begin_root "$target" mke2fs
make_root "$work/root" >"$cache/log" 2>&1 || give_up "not cached, and no mirror gives its packages (log: $cache/log)"
settle "$work/root" >>"$cache/log" 2>&1
make_disk "$work/root" "$work/disk" >>"$cache/log" 2>&1
rm -f "$cache"/*.ext4
mv "$work/disk" "$target"
echo "$target"
