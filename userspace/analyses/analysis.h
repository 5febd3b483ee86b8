// SPDX-License-Identifier: Apache-2.0
// One way to analyse the memory of a living process: a row of the table in analyses/analysis_table.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "events/heap_analysed.h"
#include "memory/byte_source.h"
#include "runtimes/sample.h"

namespace oomw {

struct SubjectLibrary {
  std::uint64_t start = 0, file_offset = 0;  // of its first mapping
  std::string name;                          // last part of its path; hostile
  const ByteSource* file = nullptr;
  int fd = -1;
};

// The process, as the reader process sees it: nothing but open files. The process is not stopped: whatever is read may
// have changed since, and may end in the middle, from where on every read of `memory` gives nothing.
struct AnalysisSubject {
  const ByteSource& memory;      // by the process's addresses; reading a page that is not present may charge its cgroup
  const ByteSource& page_map;    // /proc/PID/pagemap
  const ByteSource& maps;        // /proc/PID/maps
  const ByteSource& executable;  // the file
  int memory_fd = -1, page_map_fd = -1, executable_fd = -1;
  std::uint64_t entry = 0;  // where the program's entry point lies
  std::span<const SubjectLibrary> libraries;
  const Clock& clock;      // CPU time of this thread: on a busy node an analysis takes longer, not more
  MonotonicTime deadline;  // by that clock
  int pid = 0;             // for VictimMarks; 0: not known
  SampleRate rate{};       // what is to be read of its objects; not whole only where the row can sample
};

// What a row fills: the lists of a HeapAnalysed, its notes and texts, and the bytes of its files. They are bounded and
// made printable afterwards (analyses/analysis_wire.h).
struct AnalysisResult {
  HeapAnalysed heap;
  std::array<std::string, HeapAnalysed::kMaxFiles> files;  // by the row's file_names; "" = none
};

// After that it is about another moment, and the reader is ended.
inline constexpr Nanoseconds kMaxAnalysisTime = std::chrono::seconds(10);

struct HeapAnalysis {
  RuntimeKind of;
  Nanoseconds cpu_limit;  // for the whole analysis; by the wall clock it may take kMaxAnalysisTime
  // What a whole one takes for each MiB in use, as a rule, by the wall clock on a node that is not idle.
  Nanoseconds each_mebibyte;
  bool can_sample;  // follows AnalysisSubject::rate
  // Files whose names begin so are given with the process; "" = none.
  std::array<std::string_view, 2> libraries;
  // Beside an incident; nullptr = none. The first may be kContentsFile: that file is made of the lists for every row.
  std::array<const char*, HeapAnalysed::kMaxFiles> file_names;
  // Whether the process is one for this row; by its executable, libraries and maps, cheaply. Another process costs no
  // event.
  bool (*recognises)(const AnalysisSubject&);
  // An error is the event's reason: kUnsupported (layout not known), kInvalid (torn or forged), kLimit, kTimeout.
  Result<> (*analyse)(const AnalysisSubject&, AnalysisResult&);
};

// All of them, in the order in which they are tried; each that recognises a process makes an event of its own.
[[nodiscard]] std::span<const HeapAnalysis> heap_analyses();
// For any process without a heap profile, in place of those above where they have no time: what its mappings are for.
inline constexpr std::size_t kCompositionRow = 5;
// Of heap_analyses(), or that one; nullptr: no such row.
[[nodiscard]] const HeapAnalysis* analysis_of(std::size_t row);

}  // namespace oomw
