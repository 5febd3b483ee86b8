// SPDX-License-Identifier: Apache-2.0
// Where bytes come from: a file, a span, another process. One interface, so that the readers of
// ELF, pclntab and buckets are the same code in production, in tests and under the fuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace oomw {

// Random access to foreign bytes. Implementations never trust them and never throw.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills a prefix of `out` from `offset` and returns its length; 0 = nothing there (end of file,
  // unmapped page). An Error only when the source itself is gone.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

// A file through pread. Not mmap: a file that shrinks under a mapping kills the reader with
// SIGBUS, and the file belongs to the workload. The fd is borrowed and must outlive the source.
class FdSource final : public ByteSource {
 public:
  explicit FdSource(int fd) : fd_(fd) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  int fd_;
};

// Bytes in memory, borrowed, that begin at address `base`.
class SpanSource final : public ByteSource {
 public:
  explicit SpanSource(std::span<const std::byte> bytes, std::uint64_t base = 0) : bytes_(bytes), base_(base) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t base_;
};

// A system call that reads a process's memory holds all of that memory until it returns: if the process is killed
// meanwhile, the caller tears its memory down, late, and the OOM killer, which finds nobody who is about to free any,
// takes a second process. Beside continuous reads of 64 KiB a neighbour that went on allocating was killed too in 14 of
// 25 kills, beside reads of a page in 16 of 75, without a reader in 3 of 75 (6.18, two busy CPUs). So memory is read a
// page at a time, not once the process has been chosen (victim_marks.h), and what is read for long ends before the
// limit (triggers/analysis_policy.h).
inline constexpr std::uint64_t kReadPiece = 4096;

// Fills a prefix of `out` by read(address, piece), no piece across a page's end. read() is as read_some().
template <typename Read>
[[nodiscard]] Result<std::size_t> read_in_pieces(std::uint64_t address, std::span<std::byte> out, const Read& read) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = address + done;
    const std::size_t wanted = std::min<std::uint64_t>(out.size() - done, kReadPiece - at % kReadPiece);
    const Result<std::size_t> n = read(at, out.subspan(done, wanted));
    if (!n) return n;
    done += *n;
    if (*n < wanted) break;
  }
  return done;
}

}  // namespace oomw
