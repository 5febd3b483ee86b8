#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collector_build.sh VERSION VARIANT: prints the path of a real OpenTelemetry Collector built by Go
# VERSION ("1.27") as releases build it (-trimpath -ldflags "-s -w", no cgo), or exits 3 with the
# reason on stderr. VARIANT: pprof | nopprof (no path to runtime.MemProfile, as in distributions
# without the pprof extension).
#
# The Collector's sources are Debian's golang-*-dev packages of sid, unpacked without their test
# data below ${OOMW_CACHE:-~/.cache/oomwitness}/collector. Built once a toolchain, variant and source.
set -euo pipefail

version=${1:?usage: collector_build.sh VERSION VARIANT} variant=${2:?variant}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$here/private_apt.sh"
folder=$here/../workloads/collector
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}
own=$cache/collector tree=$own/tree
package=golang-opentelemetry-collector-dev

give_up() {
  echo "collector: $1" >&2
  exit 3
}

case $variant in
  pprof) tags='' ;;
  nopprof) tags=noprofile ;;
  *) echo "collector_build: unknown variant $variant" >&2 && exit 2 ;;
esac
root=$("$here/go_toolchain.sh" "$version") || exit 3
source_hash=$(cat "$folder"/*.go "$0" "$root/VERSION" | sha256sum | cut -c1-16)
target=$own/otelcol-$version-$variant-$source_hash
[[ -x $target ]] && echo "$target" && exit 0

# The package and all golang-*-dev packages it needs, however far down.
source_packages() {
  apt_private apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances "$package" | grep -oE '^golang-[a-z0-9.+-]+-dev$' | sort -u
}

# Without tests, documents and the fuzzers' corpora, which nobody compiles.
unpack() { # every .deb of folder $1 into $2
  local deb
  mkdir -p "$2"
  for deb in "$1"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" --exclude='*/klauspost/*/testdata' \
      --exclude='*/pierrec/*/testdata' --exclude='*/github.com/aws' --exclude='*/cloud.google.com' \
      --exclude='*/google.golang.org/api' --exclude='*_test.go' --exclude='*/usr/share/doc' || return 1
  done
}

fetch_sources() {
  local work names
  find_mirror
  use_suite sid "$own/apt" || give_up "no package list of sid (log: $state/log)"
  mapfile -t names < <(source_packages)
  ((${#names[@]} > 1)) || give_up "sid has no package $package with its dependencies"
  work=$(mktemp -d "$own/unpack.XXXXXX")
  if ! download "$work" "${names[@]}" || ! unpack "$work" "$work/tree"; then
    rm -rf "$work"
    give_up "the sources could not be downloaded and unpacked (log: $state/log)"
  fi
  rm -rf "${tree:?}"
  mv "$work/tree" "$tree"
  rm -rf "$work"
}

take_lock "$own" 900
[[ -x $target ]] && echo "$target" && exit 0
[[ -d $tree/usr/share/gocode/src/go.opentelemetry.io/collector ]] || fetch_sources

# GOPATH mode: Debian's packages are one source tree, without versions.
workspace=$(mktemp -d "$own/workspace.XXXXXX")
trap 'rm -rf "$workspace"' EXIT
mkdir -p "$workspace/src/oomwitness/collector"
cp "$folder"/*.go "$workspace/src/oomwitness/collector/"
export CGO_ENABLED=0 GOROOT=$root GOTOOLCHAIN=local GOPROXY=off GOSUMDB=off GOFLAGS=-buildvcs=false GO111MODULE=off
export GOPATH=$workspace:$tree/usr/share/gocode GOCACHE=$cache/go-build-$version
rm -f "$own/otelcol-$version-$variant"-*
nice "$root/bin/go" build -p 2 -trimpath -tags "$tags" -ldflags '-s -w' -o "$target.new" oomwitness/collector >&2 ||
  give_up "does not build with Go $version"
mv "$target.new" "$target"
echo "$target"
