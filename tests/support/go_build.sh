#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# go_build.sh VERSION VARIANT [FOLDER]: prints the path of tests/workloads/go-heap (or FOLDER) built
# by that Go, or exits 3 with the reason on stderr.
#
# VARIANT joins words with "-": plain | strip (-s -w) | pie | ext (cgo, the system's linker) |
# arm64 | 386 | nopprof (no path to runtime.MemProfile). Built once per toolchain, variant and source.
set -euo pipefail

version=${1:?usage: go_build.sh VERSION VARIANT [FOLDER]} variant=${2:?variant}
here=$(cd "$(dirname "$0")" && pwd)
folder=${3:-$here/../workloads/go-heap}
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}

root=$("$here/go_toolchain.sh" "$version") || exit 3
source_hash=$(cat "$folder"/*.go "$folder"/go.mod "$0" "$root/VERSION" | sha256sum | cut -c1-16)
target=$cache/go-programs/$(basename "$folder")-$version-$variant-$source_hash
[[ -x $target ]] && echo "$target" && exit 0

arguments=() link=() tags=()
export CGO_ENABLED=0 GOROOT=$root GOTOOLCHAIN=local GOPROXY=off GOSUMDB=off GOFLAGS=-buildvcs=false
export GOCACHE=$cache/go-build-$version GOARCH=amd64 GOOS=linux GO111MODULE=on
for word in ${variant//-/ }; do
  case $word in
    plain) ;;
    strip) link+=(-s -w) ;;
    pie) arguments+=(-buildmode=pie) ;;
    ext) CGO_ENABLED=1 tags+=(external) link+=(-linkmode=external) ;;
    arm64 | 386) GOARCH=$word ;;
    nopprof) tags+=(noprofile) ;;
    *) echo "unknown variant $word" >&2 && exit 2 ;;
  esac
done
if [[ $CGO_ENABLED == 1 ]] && ! command -v gcc >/dev/null; then
  echo "no C compiler for an externally linked Go program" >&2
  exit 3
fi

mkdir -p "$cache/go-programs"
exec 9>"$cache/go-programs/.lock"
flock -w 600 9
[[ -x $target ]] && echo "$target" && exit 0
rm -f "$cache/go-programs/$(basename "$folder")-$version-$variant"-*
cd "$folder"
nice "$root/bin/go" build -p 2 -o "$target.new" -tags "$(IFS=,; echo "${tags[*]-}")" -ldflags "${link[*]-}" "${arguments[@]}" . >&2
mv "$target.new" "$target"
echo "$target"
