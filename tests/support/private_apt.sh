# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# private_apt.sh: for scripts to source that need packages of another Debian suite. apt has a state of its own then: the
# system's package lists and packages are never touched. The mirror is the one the system already uses.
#
# Who sources it has give_up REASON, which ends the script. After use_suite, $state is that suite's state, its log inside.

# Only one at a time below FOLDER, made if need be, until this process ends.
take_lock() { # FOLDER SECONDS
  mkdir -p "$1"
  exec 9>"$1/.lock"
  flock -w "$2" 9 || give_up "another process holds the lock of $1"
}

# Sets $mirror, or gives up.
find_mirror() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    give_up "not cached, and apt-get or dpkg is missing"
  fi
  # shellcheck disable=SC2016 # the format is apt's to expand
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | sort -u | head -1) || true
  [[ -n $mirror ]] || give_up "not cached, and the system's apt knows no mirror"
}

# Fails where the suite cannot be read.
use_suite() { # SUITE STATE [deb-src]
  state=$2
  mkdir -p "$state"/lists/partial "$state"/cache/archives/partial
  echo "${3:-deb} $mirror $1 main" >"$state/sources.list"
  apt_private apt-get update >"$state/log" 2>&1
}

apt_private() { # COMMAND...: an apt-get or apt-cache that keeps everything below $state
  "$@" -q -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status=/dev/null \
    -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=2 -o Acquire::http::Timeout=20
}

download() { # FOLDER PACKAGE...
  (cd "$1" && shift && apt_private apt-get download "$@" >>"$state/log" 2>&1)
}

# For what is made of a root by mmdebstrap: prints TARGET and ends the script where it is there. Else this process holds
# the lock of TARGET's folder afterwards, $mirror is set, and $work is an empty folder there that goes with the script.
begin_root() { # TARGET TOOL...
  local tool
  print_if_made "$1"
  for tool in mmdebstrap "${@:2}"; do
    command -v "$tool" >/dev/null || give_up "not cached, and no $tool on this machine"
  done
  ((EUID == 0)) || give_up "not cached, and not root"
  find_mirror
  take_lock "$(dirname "$1")" 900
  print_if_made "$1"
  work=$(mktemp -d "$(dirname "$1")/make.XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

print_if_made() { # PATH
  [[ -e $1 ]] || return 0
  echo "$1"
  exit 0
}
