// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "events/heap_analysed.h"
#include "process/process_image.h"
#include "reader/reader_group.h"
#include "runtimes/runtime.h"
#include "triggers/trend_schedule.h"

namespace oomw {

// Estimates, as of a Go heap by its holders, and figures that count dead objects are shown and never judged.
[[nodiscard]] constexpr bool are_contents_judged(RuntimeKind of) { return of != RuntimeKind::kGo && !is_collected(of); }

// What fills one process, as names that stay the same from one reading to the next.
class ContentsProcess final : public RuntimeProcess {
 public:
  // Together, of all names of a process; a process that changes its names with each reading only loses its own trend.
  static constexpr std::size_t kMaxNameBytes = 16u << 10;

  ContentsProcess(ProcessKey process, MonotonicTime now);
  [[nodiscard]] RuntimeKind kind() const override;
  [[nodiscard]] bool has_names_at_hand() const override { return true; }
  // No profiles: near a limit, an analysis makes contents.pb.gz.
  [[nodiscard]] std::unique_ptr<ProgramNames> names(const Clock& clock, MonotonicTime deadline) const override;

  // The lists of an analysis as a reading: each filler is a site, in blocks of 1 KiB.
  [[nodiscard]] HeapReading reading_of(const HeapAnalysed& analysed) const;

 private:
  friend class ContentsNames;
  using Lines = std::vector<std::string>;  // "list of dict", "held as `REQUEST_LOG` in module `app`"
  [[nodiscard]] std::optional<std::uint64_t> number_of(const HeapFiller& filler) const;
  [[nodiscard]] Lines lines_of(std::uint64_t number) const;

  mutable std::mutex mutex_;
  mutable RuntimeKind kind_ = RuntimeKind::kNative;  // of the newest reading
  mutable std::map<Lines, std::uint64_t> numbers_;
  mutable std::vector<const Lines*> lines_;  // by number, of numbers_
  mutable std::size_t bytes_ = 0;
};

// Programs without heap profiles as a Runtime, so that HeapTrends reads, keeps and judges what fills them as it does
// with Go heaps. One reading is one analysis (analyses/analysis.h), by the first row that recognises the process.
//   - Every count is exact, as of moments within the reading; a process is not stopped.
//   - Lists have the largest 16 names, which overlap: a list with what it holds, and the same objects by type.
//   - Heaps that a collector manages (JVM, V8) hold dead objects, and nothing shows when a full collection ended. Their
//     readings count as of one collection, so that they are kept and shown and never judged.
//   - Not read: what has less than kLeastBytes or kLeastShare of its container's memory ("budget"), is so near its
//     limit that a capture's second analysis may be due or that reading might not end before it ("headroom"), or while
//     an analysis or a capture is under way or waits ("busy").
// Thread-safe. read() is for a worker, which waits for it.
class ContentsRuntime final : public Runtime {
 public:
  static constexpr std::size_t kMaxProcesses = 512;
  static constexpr std::uint64_t kLeastBytes = 32u << 20;
  static constexpr double kLeastShare = 0.25;
  static constexpr Nanoseconds kGrace = std::chrono::seconds(60);  // a process that is gone stays findable

  struct Config {
    std::string proc_root = "/proc";
    std::uint64_t least_bytes = kLeastBytes;
    bool reads_go = false;  // too, by its holders
  };
  // Whether something more urgent wants to be analysed. Any thread; null: never.
  using IsBusy = std::function<bool()>;

  // reader null: in this process, for programs that read one process and end. All outlive this.
  ContentsRuntime(const Clock& clock, reader::ReaderGroup* reader, MemoryBudget* memory, Config config, IsBusy is_busy);

  // The processes that may be read; of more than kMaxProcesses the first. Those that are no longer among them, or gone,
  // are dropped after kGrace.
  void set_processes(const std::vector<ProcessKey>& processes);
  // As of now; at least twice before a reading, so that its growth is known.
  void note_memory(ProcessKey process, ContainerMemory memory);
  // An analysis made for another reason; nullopt: not of a process that is known here, without names, or
  // an estimate.
  [[nodiscard]] std::optional<HeapReading> reading_of(const HeapAnalysed& analysed) const;

  void prepare(ProcessKey /*process*/) override {}
  [[nodiscard]] RuntimeProcessPtr process(ProcessKey process) const override;
  [[nodiscard]] std::vector<RuntimeProcessPtr> readable() const override;
  [[nodiscard]] HeapRead read(ProcessKey process, MonotonicTime deadline) override;
  [[nodiscard]] bool is_still_at(ProcessKey /*process*/, std::uint32_t /*collection*/) const override { return false; }
  void forget(ProcessKey process) override;

 private:
  struct Entry {
    std::shared_ptr<const ContentsProcess> process;
    std::optional<ProcessImage> image;  // as of the last reading
    std::optional<ContainerMemory> memory;
    MonotonicTime noted;
    std::optional<Nanoseconds> time_to_limit;  // at the growth between the last two notes
    std::optional<MonotonicTime> unlisted;
  };
  [[nodiscard]] CaptureReason why_not(ProcessKey process) const;
  [[nodiscard]] std::shared_ptr<const ContentsProcess> of_image(ProcessKey process, const ProcessImage& image);
  [[nodiscard]] HeapRead read_by_rows(ProcessKey process, MonotonicTime deadline, Nanoseconds& cpu);

  const Clock& clock_;
  reader::ReaderGroup* const reader_;
  MemoryBudget* const memory_;
  const Config config_;
  const IsBusy is_busy_;
  mutable std::mutex mutex_;
  std::map<ProcessKey, Entry> entries_;
};

}  // namespace oomw
