// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_cgroup_view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

Result<UniqueFd> open_node_namespace(const std::string& proc_root) {
  Result<UniqueFd> of_init = open_at(AT_FDCWD, proc_root + "/1/ns/cgroup", O_RDONLY);
  if (of_init.has_value()) return of_init;
  // In a node that is itself a container, process 2 may be any process.
  const Result<std::string> name = read_file(proc_root + "/2/comm", 64);
  if (!name.has_value() || trim(*name) != "kthreadd") return of_init;
  return open_at(AT_FDCWD, proc_root + "/2/ns/cgroup", O_RDONLY);
}

}  // namespace

Result<> see_cgroups_as_the_node(const std::string& proc_root) {
  ASSIGN_OR_RETURN(const UniqueFd node, open_node_namespace(proc_root));
  ASSIGN_OR_RETURN(const UniqueFd own, open_at(AT_FDCWD, "/proc/thread-self/ns/cgroup", O_RDONLY));
  struct stat theirs {};
  struct stat ours {};
  if (::fstat(node.get(), &theirs) != 0 || ::fstat(own.get(), &ours) != 0)
    return fail_errno(errno, "stat of ns/cgroup");
  if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev) return {};
  if (::setns(node.get(), CLONE_NEWCGROUP) != 0) return fail_errno(errno, "setns to the node's cgroup namespace");
  return {};
}

}  // namespace oomw
