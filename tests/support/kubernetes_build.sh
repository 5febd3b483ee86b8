#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubernetes_build.sh: prints a folder with kube-apiserver, kube-controller-manager, kube-scheduler and kubelet, built
# from Debian 12's kubernetes source package (1.20.2), or exits 3 with the reason on stderr.
#
# All four are links to one stripped binary (tests/cluster/node_programs), kept below
# ${OOMW_CACHE:-~/.cache/oomwitness}/kubernetes by what it is made of. Built once: about 5 CPU minutes, 1.3 GB of disk
# that are free again afterwards, 1 GB of memory.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$here/private_apt.sh"
main=$here/../cluster/node_programs/main.go
cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/kubernetes
programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
version=1.20.2
most_disk_kb=$((3 << 20))

give_up() {
  echo "kubernetes: $1" >&2
  exit 3
}

command -v go >/dev/null || give_up "no Go compiler (deploy/install-deps.sh tests)"
key=$({ cat "$main" "$0" && go version; } | sha256sum | cut -c1-16)
target=$cache/node-$version-$key

print_if_built() {
  [[ -x $target/kubelet ]] || return 0
  echo "$target"
  exit 0
}

fetch_source() { # into $work/source
  find_mirror
  use_suite bookworm "$cache/apt" deb-src || give_up "no list of bookworm's source packages (log: $state/log)"
  mkdir "$work/source"
  (cd "$work/source" && apt_private apt-get source --download-only --only-source kubernetes >>"$state/log" 2>&1) ||
    give_up "Debian's kubernetes source cannot be downloaded (log: $state/log)"
  local dsc=("$work"/source/kubernetes_*"$version"-*.dsc)
  [[ -e ${dsc[0]} ]] || give_up "Debian's kubernetes source is not $version: $(ls "$work/source")"
  mkdir -p "$(dirname "$tree")"
  # apt has checked it against the signed list.
  dpkg-source --no-check -x "${dsc[0]}" "$tree" >>"$log" 2>&1 || give_up "the source does not unpack (log: $log)"
}

# The vendored reflect2 1.0.1 crashes when built with Go 1.18 or newer, so that a custom resource would end the API server.
replace_reflect2() {
  local path=github.com/modern-go/reflect2 package=golang-github-modern-go-reflect2-dev
  use_suite bookworm "$cache/apt-dev" || return 1
  download "$work" "$package" && dpkg -x "$work/$package"_*.deb "$work/reflect2" || return 1
  rm -rf "vendor/$path"
  cp -r "$work/reflect2/usr/share/gocode/src/$path" "vendor/$path"
}

# The schemas of all API types: in no source package. Without them kubectl cannot validate what it applies.
generate_openapi() {
  local folders
  go build -p 2 -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen || return 1
  # The slash after the star: these are symbolic links.
  folders=$(grep -rl --include='*.go' '+k8s:openapi-gen=' vendor/k8s.io/*/ pkg cmd plugin |
    grep -vE '/testdata/|^vendor/k8s.io/(code-generator|sample-apiserver)/' | xargs -n 1 dirname | sort -u |
    sed 's|^|k8s.io/kubernetes/|' | paste -sd,)
  "$work/openapi-gen" -i "$folders" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
    -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$work/openapi.violations"
}

build_binary() {
  local path flags=(-s -w)
  # In GOPATH mode what is vendored has the long name; which one the linker knows depends on the importer.
  for path in k8s.io/component-base/version k8s.io/kubernetes/vendor/k8s.io/component-base/version; do
    flags+=(-X "$path.gitVersion=v$version" -X "$path.gitMajor=1" -X "$path.gitMinor=20" -X "$path.gitTreeState=clean")
  done
  mkdir -p cmd/oomw-node
  cp "$main" cmd/oomw-node/
  go build -p 2 -trimpath -tags providerless,dockerless -ldflags "${flags[*]}" -o "$work/out/node" ./cmd/oomw-node
}

print_if_built
take_lock "$cache" 1800
print_if_built
rm -rf "$cache"/work.* # of builds that were killed
(($(df --output=avail -k "$cache" | tail -n 1) > most_disk_kb)) || give_up "the build takes up to 3 GB below $cache"
work=$(mktemp -d "$cache/work.XXXXXX")
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
log=$cache/build.log tree=$work/gopath/src/k8s.io/kubernetes
: >"$log"
fetch_source
# GOPATH mode: with modules Go 1.19 wants to rewrite the go.mod of this vendor folder.
export GOPATH=$work/gopath GOCACHE=$work/go-build TMPDIR=$work GO111MODULE=off CGO_ENABLED=0 GOPROXY=off GOSUMDB=off \
  GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
mkdir "$work/out"
cd "$tree"
replace_reflect2 >>"$log" 2>&1 || give_up "Debian's reflect2 cannot be downloaded (log: $state/log)"
if ! { generate_openapi && build_binary; } >>"$log" 2>&1; then
  give_up "Debian's source does not build with $(go version | cut -d' ' -f3) (log: $log)"
fi
for program in "${programs[@]}"; do ln -s node "$work/out/$program"; done
mv "$work/out" "$target"
# One more is kept: a tree beside this one may be of another day.
find "$cache" -maxdepth 1 -name 'node-*' -printf '%T@ %p\n' | sort -rn | tail -n +3 | cut -d' ' -f2- | xargs -r rm -rf
echo "$target"
