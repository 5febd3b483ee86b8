# SPDX-License-Identifier: Apache-2.0
# Completion of oomwitness for fish; the words come from the program itself.
complete -c oomwitness -a '(oomwitness complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
