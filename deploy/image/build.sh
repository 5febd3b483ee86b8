#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh BINARY OUT.tar [REFERENCE]: the image of the DaemonSet as a docker-archive, without a registry or a
# container engine: `ctr -n k8s.io image import OUT.tar`, `docker load`, `skopeo copy docker-archive:OUT.tar ...`.
#
# Its root is the binary, the libraries it is linked with as Debian packages them (asked of the system that built
# it: the same suite), and nothing else: no shell, no package manager. It runs as root, since loading BPF programs
# and entering other processes' namespaces are root's; what it may do is the pod's security context to say.
set -euo pipefail

binary=${1:?usage: build.sh BINARY OUT.tar [REFERENCE]} out=${2:?usage: build.sh BINARY OUT.tar [REFERENCE]}
reference=${3:-localhost/oomwitness:dev}
epoch=${SOURCE_DATE_EPOCH:-0} # the same binary and packages give the same bytes

for tool in mmdebstrap readelf dpkg-query sha256sum; do
  command -v "$tool" >/dev/null || { echo "build.sh: $tool is missing (deploy/install-deps.sh tests)" >&2 && exit 3; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/oomw-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

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
  sources=$(compgen -G '/etc/apt/sources.list.d/debian.sources' || compgen -G '/etc/apt/sources.list')
  packages=$(library_packages | paste -sd,)
  mmdebstrap --quiet --variant=extract --include="$packages" "$(suite)" "$root" "$sources"
  find "$root/usr/share/doc" -type f ! -name copyright -delete # the licences stay
  rm -rf "$root"/usr/share/{man,locale,info,lintian,bug,perl5,gconv} "$root"/usr/lib/x86_64-linux-gnu/{gconv,perl,perl-base} \
    "$root"/var/{cache,lib,log,tmp} "$root"/etc/apt "$root"/usr/{bin,sbin,games} "$root"/{bin,sbin} "$root"/dev/*
  install -D -m 0755 "$binary" "$root/usr/bin/oomwitness"
  install -d "$root"/{proc,sys,dev,tmp,host,etc/oomwitness,var/lib/oomwitness}
}

# A root that lacks a library would only be found out on a node.
check_root() {
  chroot "$root" /usr/bin/oomwitness --version >"$work/version" || {
    echo "build.sh: the binary does not start in its own root" >&2
    exit 1
  }
}

archive() { # reproducible: FOLDER
  tar -C "$1" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - .
}

write_image() {
  local image=$work/image digest created
  mkdir "$image"
  archive "$root" >"$image/layer.tar"
  digest=$(sha256sum "$image/layer.tar" | cut -d' ' -f1)
  created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
  cat >"$image/config.json" <<JSON
{"architecture": "amd64", "os": "linux", "created": "$created",
 "config": {"Entrypoint": ["/usr/bin/oomwitness"], "Cmd": ["run"], "Env": ["PATH=/usr/bin"], "User": "0:0",
  "ExposedPorts": {"9435/tcp": {}}, "Volumes": {"/var/lib/oomwitness": {}},
  "Labels": {"org.opencontainers.image.title": "oomwitness", "org.opencontainers.image.licenses": "Apache-2.0",
   "org.opencontainers.image.description": "kernel-level memory tracer: the evidence of an OOM kill is already on disk"}},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]}}
JSON
  echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$reference\"], \"Layers\": [\"layer.tar\"]}]" >"$image/manifest.json"
  archive "$image" >"$out.new"
  mv "$out.new" "$out"
}

make_root
check_root
write_image
printf '%s: %s, root %s, archive %s MiB\n' "$out" "$(cat "$work/version")" "$(du -sh --apparent-size "$root" | cut -f1)" \
  "$(($(stat -c %s "$out") >> 20))"
