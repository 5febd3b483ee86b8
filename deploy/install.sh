#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs oomwitness with its systemd unit, or removes it; running it again changes nothing.
#   sudo deploy/install.sh [--binary FILE] [--prefix DIR] [--root DIR]
#   sudo deploy/install.sh --uninstall [--purge] [--prefix DIR] [--root DIR]
# --prefix defaults to /usr/local. --root puts all below another root and starts nothing there.
# An existing configuration is kept; --purge also removes it and the recorded incidents.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
binary=$tree/build/release/userspace/oomwitness prefix=/usr/local root='' action=install purge=0

usage() {
  sed -n '4,5s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

die() {
  echo "install: $*" >&2
  exit 1
}

parse() {
  while (($# > 0)); do
    case $1 in
      --uninstall) action=uninstall ;;
      --purge) purge=1 ;;
      --binary | --prefix | --root)
        (($# >= 2)) || usage
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
      *) usage ;;
    esac
    shift
  done
  [[ $prefix == /* && $prefix != *[[:space:]%\&\|]* ]] || die "--prefix must be an absolute path of plain characters"
  ((purge == 0)) || [[ $action == uninstall ]] || usage
}

# Into another root nothing is started, nor where no systemd runs.
has_systemd() { [[ -z $root && -d /run/systemd/system ]] && command -v systemctl >/dev/null; }

# put MODE FILE TARGET: prints a line, and only when there is something to do.
put() {
  if [[ -f $root$3 ]] && cmp -s "$2" "$root$3" && [[ $(stat -c %a "$root$3") == "$1" ]]; then return 0; fi
  install -D -m "$1" "$2" "$root$3"
  echo "installed $root$3"
  changed=1
}

put_configuration() {
  local target=/etc/oomwitness/oomwitness.toml
  if [[ -e $root$target ]] && ! cmp -s "$tree/deploy/oomwitness.toml" "$root$target"; then
    echo "kept $root$target"
    return
  fi
  put 644 "$tree/deploy/oomwitness.toml" "$target"
}

do_install() {
  [[ -x $binary ]] || die "no executable at $binary (cmake --workflow, or --binary FILE)"
  changed=0
  local unit
  unit=$(mktemp)
  # shellcheck disable=SC2064 # the name is known now
  trap "rm -f '$unit'" EXIT
  sed "s|^ExecStart=/usr/bin/|ExecStart=$prefix/bin/|" "$tree/deploy/systemd/oomwitness.service" >"$unit"
  put 755 "$binary" "$prefix/bin/oomwitness"
  put 644 "$unit" "$prefix/lib/systemd/system/oomwitness.service"
  put 644 "$tree/deploy/man/oomwitness.1" "$prefix/share/man/man1/oomwitness.1"
  put 644 "$tree/deploy/completion/oomwitness.bash" "$prefix/share/bash-completion/completions/oomwitness"
  put 644 "$tree/deploy/completion/_oomwitness" "$prefix/share/zsh/site-functions/_oomwitness"
  put 644 "$tree/deploy/completion/oomwitness.fish" "$prefix/share/fish/vendor_completions.d/oomwitness.fish"
  put_configuration
  if has_systemd; then
    systemctl daemon-reload
    systemctl enable -q oomwitness.service
    if ((changed)); then systemctl restart oomwitness.service; else systemctl start oomwitness.service; fi
  fi
}

do_uninstall() {
  if has_systemd && [[ -e $prefix/lib/systemd/system/oomwitness.service ]]; then
    systemctl disable -q --now oomwitness.service
  fi
  local file
  for file in "$prefix/bin/oomwitness" "$prefix/lib/systemd/system/oomwitness.service" \
    "$prefix/share/man/man1/oomwitness.1" "$prefix/share/bash-completion/completions/oomwitness" \
    "$prefix/share/zsh/site-functions/_oomwitness" "$prefix/share/fish/vendor_completions.d/oomwitness.fish"; do
    [[ ! -e $root$file ]] || { rm -f "$root$file" && echo "removed $root$file"; }
  done
  if has_systemd; then systemctl daemon-reload; fi
  if ((purge)); then
    rm -rf "$root/etc/oomwitness" "$root/var/lib/oomwitness"
    echo "removed $root/etc/oomwitness and $root/var/lib/oomwitness"
  fi
}

parse "$@"
[[ -n $root || $EUID -eq 0 ]] || die "needs root (or --root DIR)"
"do_$action"
