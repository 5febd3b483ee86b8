#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# frameworks_build.sh VERSION: prints the folder with the services of tests/workloads/go-frameworks, one program for
# each folder of cmd/, built by Go VERSION ("1.27") as releases build them (-trimpath -ldflags "-s -w", no cgo); or exits
# 3 with the reason on stderr.
#
# The frameworks are Debian's golang-*-dev packages of sid, unpacked without their test data below
# ${OOMW_CACHE:-~/.cache/oomwitness}/frameworks. Built once for each toolchain and source.
set -euo pipefail

version=${1:?usage: frameworks_build.sh VERSION}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$here/private_apt.sh"
folder=$here/../workloads/go-frameworks
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}
own=$cache/frameworks tree=$own/tree
# fiber's own two are missing from its dependencies.
packages=(golang-github-go-chi-chi-dev golang-github-gin-gonic-gin-dev golang-github-gofiber-fiber-dev
  golang-github-gofiber-fiber-v2-dev golang-github-gofiber-schema-dev golang-github-gofiber-utils-dev
  golang-github-gorilla-mux-dev golang-github-labstack-echo-dev golang-google-grpc-dev)

give_up() {
  echo "frameworks: $1" >&2
  exit 3
}

# The packages and all golang-*-dev packages they need, however far down.
with_dependencies() {
  apt_private apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "${packages[@]}" | grep -oE '^golang-[a-z0-9.+-]+-dev$' | sort -u
}

# Symbols hold import paths: a module in version 4 is imported as .../v4, wherever Debian put it.
link_versions() { # below folder $1
  local mod name dir
  find "$1" -name go.mod -not -path '*/testdata/*' | while read -r mod; do
    dir=$(dirname "$mod")
    name=$(sed -nE 's,^module .*/(v[2-9][0-9]*)"?$,\1,p' "$mod")
    if [[ -n $name && ${dir##*/} != "$name" && ! -e $dir/$name ]]; then ln -s . "$dir/$name" || return 1; fi
  done
}

unpack() { # every .deb of folder $1 into $2
  local deb
  mkdir "$2"
  for deb in "$1"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" --exclude='*/testdata' --exclude='*_test.go' \
      --exclude='*/usr/share/doc' --exclude='*/github.com/aws' --exclude='*/cloud.google.com' \
      --exclude='*/google.golang.org/api' || return 1
  done
}

fetch_sources() {
  local work names
  find_mirror
  use_suite sid "$own/apt" || give_up "no package list of sid (log: $state/log)"
  mapfile -t names < <(with_dependencies)
  ((${#names[@]} > ${#packages[@]})) || give_up "sid has no packages ${packages[*]} with their dependencies"
  work=$(mktemp -d "$own/unpack.XXXXXX")
  if ! download "$work" "${names[@]}" || ! unpack "$work" "$work/tree" || ! link_versions "$work/tree"; then
    rm -rf "$work"
    give_up "the sources could not be downloaded and unpacked (log: $state/log)"
  fi
  rm -rf "${tree:?}"
  mv "$work/tree" "$tree"
  rm -rf "$work"
}

root=$("$here/go_toolchain.sh" "$version") || exit 3
source_hash=$(find "$folder" -type f -print0 | sort -z | xargs -0 cat "$0" "$root/VERSION" | sha256sum | cut -c1-16)
target=$own/services-$version-$source_hash
[[ -d $target ]] && echo "$target" && exit 0

take_lock "$own" 900
[[ -d $target ]] && echo "$target" && exit 0
[[ -d $tree/usr/share/gocode/src/github.com/go-chi ]] || fetch_sources

# GOPATH mode: Debian's packages are one source tree, without versions.
workspace=$(mktemp -d "$own/workspace.XXXXXX")
trap 'rm -rf "$workspace"' EXIT
mkdir -p "$workspace/src/example.org"
cp -r "$folder" "$workspace/src/example.org/shop"
export CGO_ENABLED=0 GOROOT=$root GOTOOLCHAIN=local GOPROXY=off GOSUMDB=off GOFLAGS=-buildvcs=false GO111MODULE=off
export GOPATH=$workspace:$tree/usr/share/gocode GOCACHE=$cache/go-build-$version
rm -rf "$own/services-$version"-*
mkdir "$workspace/bin"
cd "$workspace/src/example.org/shop"
nice "$root/bin/go" build -p 2 -trimpath -ldflags '-s -w' -o "$workspace/bin/" ./cmd/... >&2 ||
  give_up "do not build with Go $version"
mv "$workspace/bin" "$target"
echo "$target"
