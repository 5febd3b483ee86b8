// SPDX-License-Identifier: Apache-2.0
#include "captures/netns_socket.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "process/target_process.h"

namespace oomw {
namespace {

constexpr const char* kOwnNamespace = "/proc/thread-self/ns/net";

Result<UniqueFd> plain_socket(int domain, int type, int protocol) {
  UniqueFd made(::socket(domain, type | SOCK_CLOEXEC, protocol));
  if (!made.is_valid()) return fail_errno(errno, "socket");
  return made;
}

// Brings the thread back to its own namespace at destruction.
class NamespaceVisit {
 public:
  explicit NamespaceVisit(int home_fd) : home_fd_(home_fd) {}
  ~NamespaceVisit() { OOMW_CHECK(::setns(home_fd_, CLONE_NEWNET) == 0); }
  NamespaceVisit(const NamespaceVisit&) = delete;
  NamespaceVisit& operator=(const NamespaceVisit&) = delete;

 private:
  int home_fd_;
};

}  // namespace

Result<NetworkNamespace> open_network_namespace(int pid_dir_fd) {
  NetworkNamespace result;
  ASSIGN_OR_RETURN(result.fd, open_process_file(pid_dir_fd, ProcessFile::kNetNs));
  struct stat theirs {};
  struct stat ours {};
  if (::fstat(result.fd.get(), &theirs) != 0) return fail_errno(errno, "stat of ns/net");
  if (::stat(kOwnNamespace, &ours) != 0) return fail_errno(errno, kOwnNamespace);
  result.inode = theirs.st_ino;
  result.is_ours = theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
  return result;
}

Result<UniqueFd> make_socket_in(const NetworkNamespace& target, int domain, int type, int protocol) {
  if (target.is_ours) return plain_socket(domain, type, protocol);
  ASSIGN_OR_RETURN(const UniqueFd home, open_at(AT_FDCWD, kOwnNamespace, O_RDONLY));
  if (::setns(target.fd.get(), CLONE_NEWNET) != 0) return fail_errno(errno, "setns (needs CAP_SYS_ADMIN)");
  const NamespaceVisit visit(home.get());
  return plain_socket(domain, type, protocol);
}

}  // namespace oomw
