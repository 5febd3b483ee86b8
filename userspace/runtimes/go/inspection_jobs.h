// SPDX-License-Identifier: Apache-2.0
// What the reader does for the registry of Go programs: two jobs that inspect an executable, one that reads a heap
// (heap_job.h), one that names its addresses (names_job.h), and who asks for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "reader/reader.h"
#include "reader/reader_group.h"
#include "runtimes/go/program_inspector.h"

namespace oomw::go {

// "GOBI" and "GOHD"; every kind of job differs.
inline constexpr std::uint32_t kInspectBinaryJob = 0x49424f47;
inline constexpr std::uint32_t kFindListHeadJob = 0x44484f47;

// Run in the reader. files: the executable; /proc/PID/mem, and pagemap where there is one.
[[nodiscard]] Result<std::string> inspect_binary_job(std::string_view parameters, std::span<const UniqueFd> files);
[[nodiscard]] Result<std::string> find_list_head_job(std::string_view parameters, std::span<const UniqueFd> files);

[[nodiscard]] std::string encode_binary(const GoBinary& binary);
// What the reader answered, which may be anything: kInvalid unless all parts are in their bounds and fit each other.
[[nodiscard]] Result<GoBinary> decode_binary(std::string_view answer);
[[nodiscard]] Result<std::uint64_t> decode_list_head(std::string_view answer, elf::AddressRange bss);

// Readers of their own: no inspection waits for a heap, a walk or an endpoint. Three, and two for heaps and their
// names, so that files and memory that take all of their time do not hold up the programs of other containers.
class SandboxedInspector final : public ProgramInspector {
 public:
  static constexpr std::size_t kReaders = 3, kHeapReaders = 2;
  // Inspecting takes 2 to 60 ms once the file is in the page cache; a slow disk needs more.
  static constexpr Nanoseconds kTimeLimit = std::chrono::seconds(5);
  static constexpr Nanoseconds kSearchTime = std::chrono::seconds(1);  // for a list head; 1 to 60 ms
  static constexpr Nanoseconds kPatience = std::chrono::seconds(12);   // with the wait for other inspections
  // Past the deadline of a heap, to hand over what was read until then: 48 MB at most.
  static constexpr Nanoseconds kHandOver = std::chrono::seconds(1);
  // For names, from a function table that is in the page cache: milliseconds.
  static constexpr Nanoseconds kNamingTime = std::chrono::seconds(2);

  explicit SandboxedInspector(const Clock& clock, reader::ReaderConfig config = {});

  [[nodiscard]] bool refuses(const std::function<std::string()>& owner) override;
  [[nodiscard]] Result<GoBinary> inspect(int exe_fd, std::span<const std::string> owners) override;
  [[nodiscard]] Result<std::uint64_t> find_list_head(const OpenMemory& memory, elf::AddressRange bss,
                                                     std::span<const std::string> owners) override;
  [[nodiscard]] tl::expected<HeapEvidence, reader::Failure> read_heap(const OpenMemory& memory,
                                                                      const HeapTarget& target, MonotonicTime deadline,
                                                                      std::span<const std::string> owners) override;
  [[nodiscard]] Result<NamedFrames> name_frames(int exe_fd, std::span<const WantedAddress> wanted,
                                                MonotonicTime deadline, std::span<const std::string> owners) override;
  [[nodiscard]] reader::ReaderGroup& heap_readers() { return heap_readers_; }
  void tick();  // from time to time, any thread
  [[nodiscard]] std::vector<reader::ReaderCounters> counters() const;

 private:
  [[nodiscard]] reader::ReaderGroup::Answer inspect_by(std::uint32_t kind, const std::string& parameters,
                                                       std::span<const int> files, std::span<const std::string> owners);
  // By a reader of heaps, until kHandOver after `deadline`: its answer is decode(payload, file), where `file` is one of
  // memory that it had to write to.
  template <typename Decode>
  [[nodiscard]] auto read_by(std::uint32_t kind, const std::string& parameters, std::span<const int> inputs,
                             MonotonicTime deadline, std::span<const std::string> owners, const Decode& decode)
      -> tl::expected<typename std::invoke_result_t<Decode, std::string_view, int>::value_type, reader::Failure>;

  const Clock& clock_;
  reader::UnreapedReaders unreaped_;
  reader::ReaderGroup inspectors_, heap_readers_;
  std::atomic<std::uint64_t> refused_ = 0;  // before their files were opened
};

}  // namespace oomw::go
