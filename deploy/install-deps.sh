#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what a profile needs on Debian 12, as root: build | package | quickstart | tests.
# Asks dpkg first, so with everything in place it needs neither a network nor a second.
set -euo pipefail

profile=${1:-build}
cache=${OOMW_CACHE:-${HOME:-/root}/.cache/oomwitness}

build=(g++ mold cmake ninja-build pkg-config ccache clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev
  libcli11-dev libspdlog-dev libfmt-dev libexpected-dev nlohmann-json3-dev libtomlplusplus-dev
  libcurl4-openssl-dev libssl-dev liblzma-dev prometheus-cpp-dev libprotozero-dev)
# For `cpack -G DEB`, and for tests/deploy.
package=(dpkg-dev file)
deploy_tests=(python3-yaml strace systemd)
quickstart=(golang-go python3 iproute2 procps util-linux curl)
tests=(libgtest-dev libgmock-dev clang-format clang-tidy clang-14 libclang-rt-14-dev
  python3 jq libcap2-bin runc containerd mmdebstrap e2fsprogs qemu-system-x86 busybox-static cpio xz-utils zstd
  libdw-dev musl-tools librsvg2-bin python3-flask python3-django
  python3-numpy libnetty-java node-ws)

case $profile in
  build) wanted=("${build[@]}") ;;
  package) wanted=("${build[@]}" "${package[@]}") ;;
  quickstart) wanted=("${build[@]}" "${quickstart[@]}") ;;
  tests) wanted=("${build[@]}" "${package[@]}" "${quickstart[@]}" "${tests[@]}" "${deploy_tests[@]}") ;;
  *)
    echo "usage: $0 [build|package|quickstart|tests]" >&2
    exit 2
    ;;
esac

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

updated=0
update_once() {
  if ((updated == 0)); then
    apt-get update -q
    updated=1
  fi
}

install_missing() {
  local missing=() package
  for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} == 0)) && return 0
  if ((EUID != 0)); then
    echo "install-deps: not root and these packages are missing: ${missing[*]}" >&2
    exit 1
  fi
  update_once
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# Unpacked privately: Debian's package would start a service on this machine.
fetch_prometheus() {
  local target=$cache/prometheus
  command -v prometheus >/dev/null && command -v promtool >/dev/null && return 0
  [[ -x $target/usr/bin/prometheus && -x $target/usr/bin/promtool ]] && return 0
  update_once
  mkdir -p "$target"
  (
    cd "$target"
    # _apt, the sandbox user, may not write below root's cache: a warning, not an error.
    apt-get download -q prometheus
    dpkg -x prometheus_*.deb .
    rm -f prometheus_*.deb
  )
}

# Packages that a few tests need, which are skipped without.
install_optional() {
  local missing=() package
  for package; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} == 0)) && return 0
  ((EUID == 0)) || return 1
  update_once
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

install_missing
if [[ $profile == tests ]]; then
  fetch_prometheus || echo "install-deps: no prometheus binary to be had; its tests will be skipped" >&2
  install_optional chromium chromium-driver || echo "install-deps: no browser to be had; the tests of the pages will be skipped" >&2
  install_optional zsh fish || echo "install-deps: no zsh or fish to be had; the tests of their completion will be skipped" >&2
fi
