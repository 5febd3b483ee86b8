// SPDX-License-Identifier: Apache-2.0
// One reading of a cgroup: CgroupFs::sample(). Four small files (five detailed on v1) through one
// directory fd, into one stack buffer: nothing is allocated unless `detailed`.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "system/cgroup_fs.h"
#include "system/memory_files.h"

namespace oomw {
namespace {

// memory.stat is 1.3-2.5 KiB up to 6.18; keys beyond the buffer would read as absent.
using Buffer = std::array<char, 16'384>;

// Not read_file_at(): that allocates, and a sample is taken up to 1000 times in ten seconds.
Result<std::string_view> read_into(int dir_fd, const char* name, Buffer& buffer) {
  const UniqueFd fd(::openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_valid()) return fail_errno(errno, name);
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t n = ::read(fd.get(), buffer.data() + filled, buffer.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, name);  // ENODEV (the cgroup is gone since open()) is kNotFound
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return std::string_view(buffer.data(), filled);
}

Result<std::uint64_t> read_number(int dir_fd, const char* name, Buffer& buffer) {
  ASSIGN_OR_RETURN(const std::string_view text, read_into(dir_fd, name, buffer));
  if (const auto value = parse_u64(trim(text))) return *value;
  return fail(ErrorCode::kInvalid, std::string(name) + ": not a number");
}

Result<> read_limit(int dir_fd, const char* name, Buffer& buffer, MemorySampled& sample) {
  ASSIGN_OR_RETURN(const std::string_view text, read_into(dir_fd, name, buffer));
  const LimitText limit = parse_limit(text);
  if (!limit.valid) return fail(ErrorCode::kInvalid, std::string(name) + ": not a limit");
  sample.limit_bytes = limit.bytes;
  return {};
}

// nonreclaimable = usage - file LRUs - reclaimable slab. `usage` is exact and of this instant;
// memory.stat lags it by up to 2 s of kernel flush interval, so for a fast leak the difference
// errs upward, on the safe side. shmem (tmpfs) is on the anon LRUs and stays counted:
// without swap nothing can reclaim it. v1 does not split slab, so all of kmem stays counted.
void fill_from_stat(std::string_view stat, CgroupVersion version, bool detailed, MemorySampled& sample) {
  if (const auto bytes = reclaimable(stat, version)) {
    sample.nonreclaimable_bytes = sample.usage_bytes > *bytes ? sample.usage_bytes - *bytes : 0;
  }
  if (detailed) sample.memory_stat = parse_stat(stat, version);
}

// Without memory.events.local, memory.events is still right for leaves, where nearly all kills are.
std::optional<std::uint64_t> read_oom_kills(int dir_fd, CgroupVersion version, Buffer& buffer) {
  auto text = read_into(dir_fd, memory_file_names(version).kills, buffer);
  if (!text.has_value() && version == CgroupVersion::kV2) text = read_into(dir_fd, "memory.events", buffer);
  return text.has_value() ? find_value(*text, "oom_kill") : std::nullopt;
}

Result<> fill_sample(int dir_fd, CgroupVersion version, bool detailed, MemorySampled& sample) {
  Buffer buffer;
  const MemoryFileNames names = memory_file_names(version);
  ASSIGN_OR_RETURN(sample.usage_bytes, read_number(dir_fd, names.usage, buffer));
  RETURN_IF_ERROR(read_limit(dir_fd, names.limit, buffer, sample));
  sample.kernel_oom_kills = read_oom_kills(dir_fd, version, buffer);
  if (const auto stat = read_into(dir_fd, "memory.stat", buffer); stat.has_value()) {
    fill_from_stat(*stat, version, detailed, sample);
  }
  if (detailed && version == CgroupVersion::kV1) {
    const auto kernel = read_number(dir_fd, "memory.kmem.usage_in_bytes", buffer);
    if (kernel.has_value()) sample.memory_stat.insert_or_assign("kernel", *kernel);
  }
  return {};
}

}  // namespace

Result<MemorySampled> CgroupFs::sample(const std::string& path, CgroupId expected, const Clock& clock,
                                       bool detailed) const {
  ASSIGN_OR_RETURN(const UniqueFd dir, open(path, expected));
  MemorySampled sample;
  sample.cgroup = expected;
  sample.detailed = detailed;
  auto filled = fill_sample(dir.get(), version_, detailed, sample);
  sample.time = clock.now();
  if (filled.has_value()) return sample;
  // Files missing while the directory is still there: v2's root, or the controller is off here.
  const auto id = id_of(path);
  const bool is_still_there = id.has_value() && (!expected || *id == expected);
  if (filled.error().code == ErrorCode::kNotFound && is_still_there) filled.error().code = ErrorCode::kUnsupported;
  return tl::make_unexpected(std::move(filled).error().with_context("reading " + path));
}

}  // namespace oomw
