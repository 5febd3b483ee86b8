#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh BINARY OUT.tar [REFERENCE]: the image of the DaemonSet as a docker-archive, without a registry or a
# container engine: `ctr -n k8s.io image import OUT.tar`, `docker load`, `skopeo copy docker-archive:OUT.tar ...`.
#
# Exits 3 where a tool or the packages cannot be had. What is in the image: root.sh.
set -euo pipefail

binary=${1:?usage: build.sh BINARY OUT.tar [REFERENCE]} out=${2:?usage: build.sh BINARY OUT.tar [REFERENCE]}
reference=${3:-localhost/oomwitness:dev}
epoch=${SOURCE_DATE_EPOCH:-0} # the same binary and packages give the same bytes

work=$(mktemp -d "${TMPDIR:-/tmp}/oomw-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

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
 "config": {"Entrypoint": ["/usr/bin/oomwitness"], "Cmd": ["run", "--metrics-listen", ":9435"], "Env": ["PATH=/usr/bin"], "User": "0:0",
  "ExposedPorts": {"9435/tcp": {}}, "Volumes": {"/var/lib/oomwitness": {}},
  "Labels": {"org.opencontainers.image.title": "oomwitness", "org.opencontainers.image.version": "$version",
   "org.opencontainers.image.licenses": "Apache-2.0",
   "org.opencontainers.image.description": "kernel-level memory tracer: the evidence of an OOM kill is already on disk"}},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]}}
JSON
  echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$reference\"], \"Layers\": [\"layer.tar\"]}]" >"$image/manifest.json"
  archive "$image" >"$out.new"
  mv "$out.new" "$out"
}

version=$("$(dirname "$0")/root.sh" "$binary" "$root")
write_image
printf '%s: %s, root %s, archive %s MiB\n' "$out" "$version" "$(du -sh --apparent-size "$root" | cut -f1)" \
  "$(($(stat -c %s "$out") >> 20))"
