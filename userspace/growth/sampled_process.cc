// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/victim_marks.h"
#include "growth/code_hits.h"
#include "growth/growth_wire.h"
#include "growth/unwound.h"
#include "memory/memory_map.h"
#include "process/open_memory.h"
#include "process/target_process.h"

namespace oomw {
namespace {

using growth::CodeHits, growth::JobRange, growth::Sample;
using growth::kMaxAnswerBytes, growth::kMaxCodeFiles, growth::kMaxRanges, growth::kMaxRecordBytes;

constexpr std::size_t kMaxOpenFiles = 64;                    // of one process
constexpr Nanoseconds kJobTime = std::chrono::seconds(8);    // a batch takes milliseconds on an idle machine
constexpr Nanoseconds kPatience = std::chrono::seconds(12);  // with a start of the reader

using FileKey = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
FileKey key_of(const Mapping& mapping) { return {mapping.device, mapping.inode}; }

// HotSpot's archive of classes: most names of the JDK's code are there.
bool is_class_archive(const Mapping& mapping) {
  return mapping.has_file() && !mapping.is_executable && mapping.file_name().ends_with(".jsa");
}

Result<UniqueFd> memory_file(const char* name) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.is_valid()) return fail_errno(errno, "memfd_create");
  return file;
}

Error error_of(const reader::Failure& failure) {
  if (failure.fault == reader::Fault::kNone) return failure.error;
  const ErrorCode code = failure.fault == reader::Fault::kTimeout ? ErrorCode::kTimeout
                         : failure.fault == reader::Fault::kLimit ? ErrorCode::kLimit
                                                                  : ErrorCode::kUnavailable;
  return {code, "the reader (" + std::string(to_string(failure.fault)) + "): " + failure.error.message};
}

}  // namespace

struct SampledProcess::Impl {
  explicit Impl(TargetProcess target) : process(std::move(target)) {}

  // What is mapped now; the last known if the process is gone.
  void read_maps() {
    const auto text = read_process_file(process.dir_fd(), process.key().pid, ProcessFile::kMaps, MemoryMap::kMaxText);
    if (!text || text->empty() || text->size() == MemoryMap::kMaxText) return;
    map = MemoryMap::parse(*text);
    std::vector<const Mapping*> wanted;
    bool is_java = false;
    for (const Mapping& mapping : map->mappings()) {
      if (mapping.is_executable && mapping.has_file()) wanted.push_back(&mapping);
      is_java = is_java || (mapping.is_executable && mapping.file_name() == "libjvm.so");
    }
    // Most stacks go through the largest: an interpreter that is a library lies anywhere among a hundred modules.
    std::ranges::stable_sort(wanted, std::greater(), [](const Mapping* one) { return one->end - one->begin; });
    for (const Mapping& mapping : map->mappings()) {
      if (is_java && is_class_archive(mapping)) wanted.insert(wanted.begin(), &mapping);
    }
    for (const Mapping* mapping : wanted) open_file(*mapping);
  }

  // Those that samples point into. Each takes the place of one that neither they nor the names of classes need.
  void open_files_of(const std::vector<CodeHits>& hits) {
    if (VictimMarks::has(process.key().pid)) return;
    std::set<FileKey> needed;
    for (const CodeHits& hit : hits) needed.insert(key_of(*hit.mapping));
    for (const Mapping& mapping : map->mappings()) {
      if (is_class_archive(mapping)) needed.insert(key_of(mapping));
    }
    for (const CodeHits& hit : hits) {
      if (!hit.mapping->has_file() || files.contains(key_of(*hit.mapping))) continue;
      auto file = open_mapped(*hit.mapping);
      const auto unused = std::ranges::find_if(files, [&](const auto& one) { return !needed.contains(one.first); });
      if (!file || (files.size() >= kMaxOpenFiles && unused == files.end())) continue;
      if (files.size() >= kMaxOpenFiles) files.erase(unused);
      files.emplace(key_of(*hit.mapping), std::move(*file));
    }
  }

  void open_file(const Mapping& mapping) {
    if (files.size() >= kMaxOpenFiles || files.contains(key_of(mapping))) return;
    if (auto file = open_mapped(mapping)) files.emplace(key_of(mapping), std::move(*file));
  }

  // The mapped file itself, whatever its path names by now; nullopt: it is gone, or no regular file.
  [[nodiscard]] std::optional<UniqueFd> open_mapped(const Mapping& mapping) const {
    auto file = open_mapped_file(process.dir_fd(), mapping.begin, mapping.end);
    struct stat status {};
    if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return std::move(*file);
  }

  struct Job {
    std::vector<JobRange> ranges;
    std::vector<int> files;  // executables
    bool has_run_time_code = false;
  };
  [[nodiscard]] Job job_for(std::vector<CodeHits> hits) const;
  [[nodiscard]] Result<UnwoundSamples> run(const Job& job, std::span<const std::byte> records, std::size_t stacks,
                                           reader::Reader& reader, std::span<const std::string> owners);

  TargetProcess process;
  std::optional<MemoryMap> map;
  std::map<FileKey, UniqueFd> files;
  UniqueFd perf_map;
  OpenMemory memory;  // of the program that ran at the first sample
  PythonLayout python;
};

// The files that most words point into, which come first; a job takes kMaxCodeFiles of them.
SampledProcess::Impl::Job SampledProcess::Impl::job_for(std::vector<CodeHits> hits) const {
  if (hits.size() > kMaxRanges) hits.resize(kMaxRanges);
  Job job;
  std::map<FileKey, std::uint64_t> numbers;
  for (const CodeHits& hit : hits) {
    const Mapping& mapping = *hit.mapping;
    JobRange range{mapping.begin, mapping.end, mapping.file_offset, JobRange::kNoFile, {}};
    range.name = mapping.file_name();
    if (mapping.has_file()) {
      const auto file = files.find(key_of(mapping));
      const bool has_place = file != files.end() && (numbers.contains(file->first) || job.files.size() < kMaxCodeFiles);
      if (has_place && numbers.emplace(file->first, job.files.size()).second) job.files.push_back(file->second.get());
      range.file = has_place ? JobRange::kFirstFile + numbers[file->first] : JobRange::kUnreadFile;
    }
    job.has_run_time_code = job.has_run_time_code || !mapping.has_file();
    job.ranges.push_back(std::move(range));
  }
  for (const Mapping& mapping : map->mappings()) {
    const auto file = is_class_archive(mapping) ? files.find(key_of(mapping)) : files.end();
    if (file == files.end() || job.ranges.size() >= kMaxRanges) continue;
    if (!numbers.contains(file->first) && job.files.size() >= kMaxCodeFiles) continue;
    if (numbers.emplace(file->first, job.files.size()).second) job.files.push_back(file->second.get());
    job.ranges.push_back({mapping.begin, mapping.end, mapping.file_offset, JobRange::kFirstFile + numbers[file->first],
                          std::string(), true});
  }
  std::ranges::sort(job.ranges, {}, &JobRange::begin);
  return job;
}

Result<UnwoundSamples> SampledProcess::Impl::run(const Job& job, std::span<const std::byte> records, std::size_t stacks,
                                                 reader::Reader& reader, std::span<const std::string> owners) {
  ASSIGN_OR_RETURN(const UniqueFd input, memory_file("growth-samples"));
  ASSIGN_OR_RETURN(const UniqueFd answer, memory_file("growth-stacks"));
  ASSIGN_OR_RETURN(const UniqueFd nothing, memory_file("nothing"));
  RETURN_IF_ERROR(write_all(input.get(), {reinterpret_cast<const char*>(records.data()), records.size()}));
  const auto or_empty = [&](const UniqueFd& file) { return file.is_valid() ? file.get() : nothing.get(); };
  std::vector<int> given = {input.get(), answer.get(), or_empty(perf_map), or_empty(memory.memory),
                            or_empty(memory.page_map)};
  given.insert(given.end(), job.files.begin(), job.files.end());
  const auto done = reader.run(kUnwindSamplesJob, encode_ranges(job.ranges), given, kJobTime,
                               SystemClock().now() + kPatience, owners);
  if (!done) return tl::make_unexpected(error_of(done.error()));
  std::string text(kMaxAnswerBytes, '\0');
  ASSIGN_OR_RETURN(const std::size_t size,
                   FdSource(answer.get()).read_some(0, std::as_writable_bytes(std::span(text))));
  return growth::decode_unwound(std::string_view(text).substr(0, size), stacks);
}

Result<SampledProcess> SampledProcess::open(const std::string& proc_root, ProcessKey key) {
#if defined(__x86_64__)
  ASSIGN_OR_RETURN(TargetProcess process, TargetProcess::open(proc_root, key));
  auto impl = std::make_unique<Impl>(std::move(process));
  impl->read_maps();
  if (auto opened = OpenMemory::open(impl->process)) impl->memory = std::move(*opened);
  // Another program by now, or none: what was read may be of either.
  if (!impl->map || !impl->process.is_alive()) return fail(ErrorCode::kNotFound, "the process is gone");
  return SampledProcess(std::move(impl));
#else
  (void)proc_root, (void)key;
  return fail(ErrorCode::kUnsupported, "stacks are unwound on x86-64 only");
#endif
}

Result<UnwoundSamples> SampledProcess::unwind(std::span<const std::byte> records, reader::Reader& reader,
                                              MemoryBudget* memory, std::span<const std::string> owners) {
  if (records.size() > kMaxRecordBytes) return fail(ErrorCode::kLimit, "too many growth samples for one job");
  ASSIGN_OR_RETURN(const std::vector<Sample> samples, growth::parse_samples(records));
  std::optional<MemoryBudget::Lease> lease;
  if (memory != nullptr) {
    if (auto taken = memory->try_take(records.size() + 2 * kMaxAnswerBytes)) lease.emplace(std::move(*taken));
    if (!lease) return fail(ErrorCode::kLimit, "others have all the memory");
  }
  impl_->read_maps();
  std::vector<CodeHits> hits = code_hits(*impl_->map, samples);
  std::ranges::stable_sort(hits, std::greater(), &CodeHits::hits);
  impl_->open_files_of(hits);
  const Impl::Job job = impl_->job_for(std::move(hits));
  if (job.has_run_time_code && !impl_->perf_map.is_valid()) impl_->perf_map = open_perf_map(impl_->process.dir_fd());
  const auto stacks = static_cast<std::size_t>(std::ranges::count_if(samples, &Sample::has_stack));
  auto unwound = impl_->run(job, records, stacks, reader, owners);
  if (unwound && unwound->python.thread_state != 0) impl_->python = unwound->python;
  return unwound;
}

PythonLayout SampledProcess::python() const { return impl_->python; }

SampledProcess::SampledProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SampledProcess::~SampledProcess() = default;
SampledProcess::SampledProcess(SampledProcess&&) noexcept = default;
SampledProcess& SampledProcess::operator=(SampledProcess&&) noexcept = default;

}  // namespace oomw
