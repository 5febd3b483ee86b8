// SPDX-License-Identifier: Apache-2.0
#include "sinks/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

// A line that a kill -9 or a full disk cut off must not swallow the next one.
bool ends_within_line(int fd, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

RecordFile::RecordFile(std::string path, std::uint64_t max_bytes, Print print, OtlpMapping mapping, const Clock& clock)
    : path_(std::move(path)),
      max_bytes_(max_bytes),
      print_(std::move(print)),
      mapping_(std::move(mapping)),
      clock_(clock) {}

// O_NONBLOCK: a FIFO without a reader is an error and no wait.
Result<> RecordFile::append(const std::string& line) const {
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, path_, kFlags, 0640));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "stat " + path_);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalid, path_ + " is not a plain file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > 0 && size + line.size() > max_bytes_) {
    if (::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return fail_errno(errno, "rename " + path_);
    ASSIGN_OR_RETURN(fd, open_at(AT_FDCWD, path_, kFlags, 0640));
    status.st_size = 0;
  }
  const std::string start = ends_within_line(fd.get(), status.st_size) ? "\n" : "";
  return write_all(fd.get(), start + line + "\n");
}

Delivery RecordFile::deliver(const StoredIncident& stored, unsigned nth) {
  std::string line = to_otlp_json(otlp_record_of(stored.incident, stored.directory, nth, clock_.wall_now(), mapping_));
  if (path_ == "-") {
    return print_ && print_(std::move(line))
               ? Delivery::sent()
               : Delivery::retry(DeliveryReason::kDisk, "nobody reads standard output fast enough");
  }
  const Result<> appended = append(line);
  return appended ? Delivery::sent() : Delivery::retry(DeliveryReason::kDisk, printable(appended.error().message, 256));
}

}  // namespace oomw
