// SPDX-License-Identifier: Apache-2.0
#include "cli/go_subject.h"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "runtimes/go/binary.h"

namespace oomw::cli {

namespace {

Result<UniqueFd> open_proc_file(int pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return fail_errno(errno, "opening " + path);
  return fd;
}

}  // namespace

Result<GoSubject> GoSubject::open(const Config& config, const CaptureSelector& selector) {
  ASSIGN_OR_RETURN(const std::vector<CaptureTarget> targets, find_targets(config, selector));
  Result<GoSubject> subject = fail(ErrorCode::kNotFound, "no process");
  for (const CaptureTarget& target : targets) {
    subject = open(target.process.pid);
    if (subject.has_value()) break;
  }
  return subject;
}

Result<GoSubject> GoSubject::open(int pid) {
  GoSubject subject;
  ASSIGN_OR_RETURN(const ProcessImage image, read_process_image(pid));
  ASSIGN_OR_RETURN(subject.pagemap_fd_, open_proc_file(pid, "pagemap"));
  ASSIGN_OR_RETURN(subject.executable_fd_, open_proc_file(pid, "exe"));
  ASSIGN_OR_RETURN(const go::GoBinary binary, go::inspect_binary(subject.executable_fd_.get()));
  if (!binary.is_go) {
    return fail(ErrorCode::kUnsupported, fmt::format("pid {0} is not a Go program; what fills it: oomwitness capture "
                                                     "--pid {0}",
                                                     pid));
  }
  subject.load_bias_ = image.entry - binary.entry;
  subject.memory_ = std::make_unique<ProcessMemory>(pid);
  subject.pagemap_ = std::make_unique<FdSource>(subject.pagemap_fd_.get());
  subject.executable_ = std::make_unique<FdSource>(subject.executable_fd_.get());
  if (!binary.variables.rate) return subject;
  std::int64_t rate = 0;
  const auto bytes = std::as_writable_bytes(std::span(&rate, 1));
  ASSIGN_OR_RETURN(const std::size_t n, subject.memory_->read_some(*binary.variables.rate + subject.load_bias_, bytes));
  if (n == sizeof(rate) && rate > 0) subject.rate_ = static_cast<double>(rate);
  return subject;
}

}  // namespace oomw::cli
