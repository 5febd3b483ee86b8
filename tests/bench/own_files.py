# SPDX-License-Identifier: Apache-2.0
"""Programs with executables of their own (and the large files of a JVM), as in a container whose image nobody else uses.

The pages of a file are charged to who reads them first. On a machine of tests that is seldom the program: what it runs was
read before, by others. In a container it mostly is, and those pages are reclaimed before anything is killed.
"""
import os
import shutil

# In a mount namespace of its own: each copy over what it is a copy of. Then the program replaces the shell.
_MOUNT = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit 1; done; shift; exec "$@"'
_OF_JAVA = ("lib/server/libjvm.so", "lib/server/classes.jsa", "lib/modules")


def files_of(argv):
    program = os.path.realpath(shutil.which(argv[0]))
    home = os.path.dirname(os.path.dirname(program))
    return [program] + [file for file in (os.path.join(home, name) for name in _OF_JAVA) if os.path.isfile(file)]


def _copy(file, target):
    shutil.copyfile(file, target)
    shutil.copymode(file, target)
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)  # else its pages are ours, who wrote them
    finally:
        os.close(descriptor)


def with_own_files(argv, folder):
    """How to start `argv` with copies in `folder`, which is made."""
    os.mkdir(folder)
    mounts = []
    for number, file in enumerate(files_of(argv)):
        target = os.path.join(folder, f"{number}-{os.path.basename(file)}")
        _copy(file, target)
        mounts += [target, file]
    return ["unshare", "--mount", "sh", "-c", _MOUNT, "sh", *mounts, "--", *argv]
