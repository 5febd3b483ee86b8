# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Completion of oomwitness for bash; the words come from the program itself.
_oomwitness() {
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Where it has no words, file names are completed.
complete -o default -F _oomwitness oomwitness
