// SPDX-License-Identifier: Apache-2.0
// One analysis: the job of the reader, and who asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "analyses/analysis.h"
#include "base/memory_budget.h"
#include "base/unique_fd.h"
#include "captures/profile_file.h"
#include "process/process_files.h"
#include "reader/reader_group.h"

namespace oomw {

// "ANHP"; every kind of job differs.
inline constexpr std::uint32_t kAnalyseHeapJob = 0x50484e41;

// Runs in the reader. files: memory, pagemap, maps, executable, the libraries, and kMaxFiles empty ones for the
// result's files. An empty answer: the row does not recognise the process.
[[nodiscard]] Result<std::string> analyse_heap_job(std::string_view parameters, std::span<const UniqueFd> files);

struct AnalysisAnswer {
  HeapAnalysed heap;  // the lists, notes and texts; the files have no spool_file yet
  std::array<std::optional<ProfileFile>, HeapAnalysed::kMaxFiles> files;
};
// The names of libraries that some row wants.
[[nodiscard]] std::vector<std::string_view> wanted_libraries();
// Row `row` of analysis_of(), of this process; nullopt: it is not one for this row. reader null: in this process, for
// programs that analyse one process and end. rate: not whole only for rows that can sample. cpu: as Reader::run() adds
// to it.
[[nodiscard]] tl::expected<std::optional<AnalysisAnswer>, CaptureFailure> analyse_heap(
    std::size_t row, const ProcessFiles& process, reader::ReaderGroup* reader, MemoryBudget* memory,
    MonotonicTime deadline, SampleRate rate = {}, Nanoseconds* cpu = nullptr);

}  // namespace oomw
