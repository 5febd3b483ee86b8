#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# root.sh BINARY DIRECTORY: the root of the image, for build.sh and for the Dockerfile. Exits 3 where it lacks a tool
# or the packages.
#
# It is the binary, the libraries it is linked with as Debian packages them (those of the system that built it: the
# same suite), tar, which `kubectl cp` starts in the container, and nothing else: no shell, no package manager. It runs as root, since loading BPF programs and
# entering other processes' namespaces are root's; the pod's security context decides what it may do.
set -euo pipefail

binary=${1:?usage: root.sh BINARY DIRECTORY} root=${2:?usage: root.sh BINARY DIRECTORY}

give_up() {
  echo "root.sh: $1" >&2
  exit 3
}

for tool in mmdebstrap readelf strip dpkg-query; do
  command -v "$tool" >/dev/null || give_up "$tool is missing (deploy/install-deps.sh tests)"
done

# The packages of the libraries that the binary names; what those need comes with them.
library_packages() {
  local library path
  for library in $(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    path=$(ldconfig -p | awk -v want="$library" '$1 == want { print $NF; exit }')
    # Debian 12 is merged: dpkg knows a file by either name.
    dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "/usr$path" 2>/dev/null || dpkg-query -S "${path#/usr}"
  done | cut -d: -f1 | sort -u
}

suite() {
  local VERSION_CODENAME=''
  # shellcheck disable=SC1091
  . /etc/os-release
  echo "$VERSION_CODENAME"
}

# Unpacked, not installed: no maintainer script runs, so nothing of this machine gets into the root.
make_root() {
  local sources packages
  sources=$(compgen -G '/etc/apt/sources.list.d/debian.sources' || compgen -G '/etc/apt/sources.list') ||
    give_up "no package source of Debian is configured"
  packages=$(library_packages | paste -sd,),tar
  mmdebstrap --quiet --variant=extract --include="$packages" "$(suite)" "$root" "$sources" >&2 ||
    give_up "the packages $packages could not be had"
  mv "$(compgen -G "$root/usr/bin/tar" || compgen -G "$root/bin/tar")" "$root/tar.kept" # Debian 13 has it below /usr
  find "$root/usr/share/doc" -type f ! -name copyright -delete # the licences stay
  rm -rf "$root"/usr/share/{man,locale,info,lintian,bug,perl5,gconv} "$root"/usr/lib/x86_64-linux-gnu/{gconv,perl,perl-base} \
    "$root"/var/{cache,lib,log,tmp} "$root"/etc/apt "${root:?}"/usr/{bin,sbin,games} "${root:?}"/{bin,sbin} "${root:?}"/dev/*
  install -D -m 0755 --strip "$binary" "$root/usr/bin/oomwitness"
  install -D -m 0755 "$root/tar.kept" "$root/usr/bin/tar"
  rm "$root/tar.kept"
  install -d "$root"/{proc,sys,dev,tmp,host,etc/oomwitness,var/lib/oomwitness}
}

# A root that lacks a library would only be found out on a node.
check_root() {
  chroot "$root" /usr/bin/oomwitness --version || {
    echo "root.sh: the binary does not start in its own root" >&2
    exit 1
  }
  chroot "$root" /usr/bin/tar --version >/dev/null || {
    echo "root.sh: tar does not start in the root" >&2
    exit 1
  }
}

make_root
check_root
