// SPDX-License-Identifier: Apache-2.0
#include "analyses/contents_runtime.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "analyses/analysis_job.h"
#include "base/files.h"
#include "base/text.h"
#include "base/victim_marks.h"
#include "triggers/analysis_policy.h"

namespace oomw {
namespace {

constexpr std::uint64_t kBlock = 1024;
constexpr std::size_t kFirstRow = 1;  // the one before is Go's

std::uint64_t whole_of(const HeapAnalysed& analysed) {
  std::uint64_t whole = 0;
  for (const MemoryShare& part : analysed.parts) {
    if (__builtin_add_overflow(whole, part.bytes, &whole)) return std::uint64_t{1} << 62;
  }
  return std::min(whole, std::uint64_t{1} << 62);
}

// Collections that are counted by their entries have none.
bool has_bytes(const HeapAnalysed& analysed) {
  return std::ranges::any_of(analysed.fillers, [](const HeapFiller& filler) { return filler.bytes > 0; });
}

std::uint64_t resident_bytes(const std::string& proc_root, ProcessKey process) {
  const auto text = read_file(proc_root + "/" + std::to_string(process.pid) + "/statm", 256);
  if (!text) return 0;
  const auto fields = split(*text, ' ');
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return fields.size() > 1 ? parse_u64(fields[1]).value_or(0) * page : 0;
}

// Who keeps a Go heap, as what fills it: for programs without a heap profile.
void fill_by_holders(HeapAnalysed& analysed) {
  std::uint64_t whole = 0;
  for (const HeapHolder& holder : analysed.holders) {
    if (holder.chain.empty()) continue;
    analysed.fillers.push_back({"holder", holder.chain.front(), "", holder.bytes, holder.samples, holder.share});
    whole += std::min(holder.bytes, std::uint64_t{1} << 56);
  }
  analysed.parts = {MemoryShare{"heap with a known holder", "go", whole, "holders"}};
}

HeapRead not_read(CaptureReason reason, std::string detail) {
  HeapRead read;
  read.failure = {reason, std::move(detail), {}};
  return read;
}

}  // namespace

class ContentsNames final : public ProgramNames {
 public:
  explicit ContentsNames(const ContentsProcess& process) : process_(process) {}
  [[nodiscard]] std::vector<std::string> lines_of(std::span<const std::uint64_t> pcs) override {
    return pcs.empty() ? std::vector<std::string>() : process_.lines_of(pcs.front());
  }
  [[nodiscard]] pprof::Profile profile_of(const HeapReading& /*reading*/, WallTime /*taken*/,
                                          std::vector<std::string> /*comments*/) override {
    return {};
  }

 private:
  const ContentsProcess& process_;  // whoever asks for names holds it
};

ContentsProcess::ContentsProcess(ProcessKey process, MonotonicTime now) {
  key = process;
  registered = now;
}

RuntimeKind ContentsProcess::kind() const {
  const std::lock_guard lock(mutex_);
  return kind_;
}

std::unique_ptr<ProgramNames> ContentsProcess::names(const Clock& /*clock*/, MonotonicTime /*deadline*/) const {
  return std::make_unique<ContentsNames>(*this);
}

std::optional<std::uint64_t> ContentsProcess::number_of(const HeapFiller& filler) const {
  Lines lines = {printable(filler.name, HeapAnalysed::kMaxText)};
  if (!filler.held_as.empty()) lines.push_back("held as " + printable(filler.held_as, HeapAnalysed::kMaxText));
  const auto known = numbers_.find(lines);
  if (known != numbers_.end()) return known->second;
  std::size_t bytes = sizeof(Lines) + sizeof(std::string) * 2;
  for (const std::string& line : lines) bytes += line.size();
  if (bytes_ + bytes > kMaxNameBytes) return std::nullopt;
  bytes_ += bytes;
  const auto added = numbers_.emplace(std::move(lines), lines_.size()).first;
  lines_.push_back(&added->first);
  return added->second;
}

ContentsProcess::Lines ContentsProcess::lines_of(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return number < lines_.size() ? *lines_[number] : Lines();
}

HeapReading ContentsProcess::reading_of(const HeapAnalysed& analysed) const {
  HeapReading reading;
  reading.as_of = analysed.time;
  reading.is_complete = true;
  reading.rate = 1;
  reading.whole_bytes = whole_of(analysed);
  if (!are_contents_judged(analysed.of)) reading.collection = 0;
  reading.summary = std::string(to_string(analysed.of));
  const std::lock_guard lock(mutex_);
  kind_ = analysed.of;
  for (const HeapFiller& filler : analysed.fillers) {
    if (filler.bytes == 0) continue;  // counted by its entries only
    const std::uint64_t least = reading.unlisted_bytes;
    reading.unlisted_bytes = reading.holdings.empty() ? filler.bytes : std::min(least, filler.bytes);
    const auto number = number_of(filler);
    if (!number) continue;
    const auto blocks = static_cast<std::int64_t>(std::min(filler.bytes / kBlock, std::uint64_t{0xffff'ffff}));
    const HeapAmount amount{blocks, blocks * static_cast<std::int64_t>(kBlock)};
    const std::uint64_t pcs[] = {*number};
    reading.holdings.push_back({reading.pcs.append(pcs), 1, kBlock, amount, amount, amount});
  }
  return reading;
}

ContentsRuntime::ContentsRuntime(const Clock& clock, reader::ReaderGroup* reader, MemoryBudget* memory, Config config,
                                 IsBusy is_busy)
    : clock_(clock), reader_(reader), memory_(memory), config_(std::move(config)), is_busy_(std::move(is_busy)) {}

void ContentsRuntime::set_processes(const std::vector<ProcessKey>& processes) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  for (auto& [key, entry] : entries_) {
    if (!entry.unlisted) entry.unlisted = now;
  }
  for (const ProcessKey key : processes) {
    const auto known = entries_.find(key);
    if (known != entries_.end()) {
      known->second.unlisted.reset();
    } else if (entries_.size() < kMaxProcesses) {
      entries_[key].process = std::make_shared<const ContentsProcess>(key, now);
    }
  }
  std::erase_if(entries_, [&](const auto& one) { return one.second.unlisted && now - *one.second.unlisted >= kGrace; });
}

void ContentsRuntime::note_memory(ProcessKey process, ContainerMemory memory) {
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(process);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.time_to_limit.reset();
  if (entry.memory && memory.used_bytes > entry.memory->used_bytes && now > entry.noted) {
    const auto grown = static_cast<double>(memory.used_bytes - entry.memory->used_bytes);
    const auto left = static_cast<double>(memory.limit_bytes - std::min(memory.used_bytes, memory.limit_bytes));
    const double seconds = std::min(left / grown * to_seconds(now - entry.noted), 1e6);
    entry.time_to_limit = Nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  entry.memory = memory;
  entry.noted = now;
}

std::optional<HeapReading> ContentsRuntime::reading_of(const HeapAnalysed& analysed) const {
  // The judgement takes counts for exact, which those of a sample are not.
  const bool is_counted = analysed.result == CaptureResult::kOk && has_bytes(analysed) && !analysed.sampled_ratio;
  if (analysed.of == RuntimeKind::kGo || !is_counted) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(analysed.process);
  if (found == entries_.end()) return std::nullopt;
  return found->second.process->reading_of(analysed);
}

RuntimeProcessPtr ContentsRuntime::process(ProcessKey process) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(process);
  return found == entries_.end() ? nullptr : found->second.process;
}

std::vector<RuntimeProcessPtr> ContentsRuntime::readable() const {
  const std::lock_guard lock(mutex_);
  std::vector<RuntimeProcessPtr> all;
  for (const auto& [key, entry] : entries_) {
    if (!entry.unlisted) all.push_back(entry.process);
  }
  return all;
}

void ContentsRuntime::forget(ProcessKey process) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(process);
  if (found != entries_.end() && !found->second.unlisted) found->second.unlisted = clock_.now();
}

CaptureReason ContentsRuntime::why_not(ProcessKey process) const {
  std::optional<ContainerMemory> memory;
  std::optional<Nanoseconds> time_to_limit;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(process);
    if (found == entries_.end() || found->second.unlisted) return CaptureReason::kGone;
    memory = found->second.memory;
    time_to_limit = found->second.time_to_limit;
  }
  const std::uint64_t resident = resident_bytes(config_.proc_root, process);
  if (resident == 0 || VictimMarks::has(process.pid)) return CaptureReason::kGone;
  if (resident < config_.least_bytes) return CaptureReason::kBudget;
  if (is_busy_ && is_busy_()) return CaptureReason::kBusy;
  if (!memory) return CaptureReason::kNone;  // by hand: no daemon knows its container
  const auto used = static_cast<double>(memory->used_bytes);
  if (static_cast<double>(resident) < kLeastShare * used) return CaptureReason::kBudget;
  const bool is_second_due = used * 100 >= static_cast<double>(memory->limit_bytes) * AnalysisPolicy::kSecondPercent;
  const auto depth = AnalysisPolicy::plan_for(resident, time_to_limit).depth;
  return is_second_due || depth != AnalysisPolicy::Depth::kWhole ? CaptureReason::kHeadroom : CaptureReason::kNone;
}

// After an exec it is another program, whose trend begins anew.
std::shared_ptr<const ContentsProcess> ContentsRuntime::of_image(ProcessKey process, const ProcessImage& image) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(process);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  if (entry.image && *entry.image != image) {
    entry.process = std::make_shared<const ContentsProcess>(process, clock_.now());
  }
  entry.image = image;
  return entry.process;
}

HeapRead ContentsRuntime::read_by_rows(ProcessKey process, MonotonicTime deadline, Nanoseconds& cpu) {
  const auto files = ProcessFiles::open(config_.proc_root, process, wanted_libraries());
  if (!files) return not_read(CaptureReason::kGone, files.error().message);
  const auto known = of_image(process, files->image);
  for (std::size_t row = config_.reads_go ? 0 : kFirstRow; row < heap_analyses().size(); ++row) {
    auto answer = analyse_heap(row, *files, reader_, memory_, deadline, {}, &cpu);
    if (answer && !*answer) continue;
    if (!answer) return not_read(answer.error().reason, answer.error().detail);
    const bool is_there = known != nullptr && files->is_still_there();
    if (!is_there) return not_read(CaptureReason::kGone, "the process ended while its memory was read");
    HeapAnalysed& found = (*answer)->heap;
    found.of = analysis_of(row)->of;
    found.time = clock_.now();
    if (found.of == RuntimeKind::kGo) fill_by_holders(found);
    if (!has_bytes(found)) return not_read(CaptureReason::kEmpty, "nothing in its memory has a name");
    HeapRead read;
    read.reading = known->reading_of(found);
    read.process = known;
    return read;
  }
  return not_read(CaptureReason::kUnsupported, "no analysis is for this program");
}

HeapRead ContentsRuntime::read(ProcessKey process, MonotonicTime deadline) {
  if (const CaptureReason reason = why_not(process); reason != CaptureReason::kNone) {
    return not_read(reason, "not read: " + std::string(explain_capture_reason(to_string(reason))));
  }
  Nanoseconds cpu{};
  HeapRead read = read_by_rows(process, deadline, cpu);
  read.cost_elsewhere = cpu;
  return read;
}

}  // namespace oomw
