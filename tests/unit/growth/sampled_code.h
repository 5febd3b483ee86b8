// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "growth/growth_wire.h"
#include "growth/unwinder.h"
#include "memory/memory_map.h"

namespace oomw::test {

// The code of a living process, read here and not by a reader.
class SampledCode {
 public:
  explicit SampledCode(pid_t pid) {
    const std::string proc = "/proc/" + std::to_string(pid);
    const MemoryMap map = MemoryMap::parse(read_file(proc + "/maps", MemoryMap::kMaxText).value_or(""));
    std::vector<growth::CodeRange> ranges;
    for (const Mapping& mapping : map.mappings()) {
      if (!mapping.is_executable) continue;
      growth::CodeRange range{mapping.begin, mapping.end, mapping.file_offset, std::string(mapping.file_name()),
                              nullptr,       false};
      if (mapping.has_file()) {
        const std::string name = fmt::format("{}/map_files/{:x}-{:x}", proc, mapping.begin, mapping.end);
        files_.emplace_back(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
        range.has_file = true;
        range.file = cache_.get(files_.back().get());
      }
      ranges.push_back(range);
    }
    map_ = growth::CodeMap(std::move(ranges));
  }

  [[nodiscard]] const growth::CodeMap& map() const { return map_; }
  // Of the one sample. The frames' ranges live as long as this does.
  [[nodiscard]] growth::NativeStack unwind(const std::vector<std::byte>& record,
                                           growth::RunTimeCode* run_time = nullptr) const {
    const auto samples = growth::parse_samples(record);
    if (!samples.has_value() || samples->size() != 1) return {};
    elf::Registers registers;
    std::copy_n(samples->front().head.registers, elf::kRegisters, registers.begin());
    const elf::StackCopy copy{registers[elf::kSp], samples->front().stack, false};
    return growth::Unwinder(map_, copy, run_time).unwind(registers);
  }

 private:
  std::vector<UniqueFd> files_;
  growth::CodeFiles cache_;
  growth::CodeMap map_{{}};
};

}  // namespace oomw::test
