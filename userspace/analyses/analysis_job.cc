// SPDX-License-Identifier: Apache-2.0
#include "analyses/analysis_job.h"

#include <unistd.h>

#include <utility>

#include "analyses/analysis_wire.h"
#include "base/files.h"
#include "base/patience.h"
#include "base/thread_cpu.h"
#include "events/json_fields.h"
#include "facts/contents_pprof.h"
#include "pprof/codec.h"
#include "process/open_memory.h"
#include "reader/protocol.h"
#include "reader/wire_fields.h"
#include "runtimes/go/fault_reason.h"

namespace oomw {
namespace {

constexpr std::size_t kProcessFiles = 4;  // memory, pagemap, maps, executable
static_assert(kProcessFiles + ProcessFiles::kMaxLibraries + HeapAnalysed::kMaxFiles <= reader::kMaxFiles);
constexpr std::uint64_t kMaxFileBytes = 4u << 20;

class CpuClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return {thread_cpu().count()}; }
  [[nodiscard]] WallTime wall_now() const override { return SystemClock().wall_now(); }
};

struct Parameters {
  std::uint64_t row = 0;
  Nanoseconds cpu_limit{};
  std::int32_t pid = 0;
  std::uint64_t entry = 0;
  SampleRate rate;
  std::vector<SubjectLibrary> libraries;
};

Parameters parameters_for(std::size_t row, const ProcessFiles& process, SampleRate rate) {
  Parameters made{row, patient(analysis_of(row)->cpu_limit), process.image.pid, process.image.entry, rate, {}};
  for (const MappedFile& library : process.libraries) {
    made.libraries.push_back({library.start, library.file_offset, library.name});
  }
  return made;
}

struct Wire {};  // of describe()

void describe(auto& v, Of<SubjectLibrary> auto& library) {
  v("start", library.start);
  v("file_offset", library.file_offset);
  v("name", library.name, Chars{HeapAnalysed::kMaxText});
}

void describe(auto& v, Of<Parameters> auto& given) {
  v("row", given.row);
  v("cpu_limit", given.cpu_limit);
  v("pid", given.pid);
  v("entry", given.entry);
  v("one_in", given.rate.one_in);
  v("seed", given.rate.seed);
  v("libraries", given.libraries, Items{ProcessFiles::kMaxLibraries});
}

// A file that follows from the lists, whatever the runtime.
bool gives_contents(const HeapAnalysis& row) {
  const char* name = row.file_names.front();
  return name != nullptr && std::string_view(name) == kContentsFile;
}

CaptureReason reason_of_error(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnsupported:
      return CaptureReason::kLayoutUnknown;
    case ErrorCode::kInvalid:
      return CaptureReason::kMalformed;
    case ErrorCode::kLimit:
      return CaptureReason::kLimit;
    case ErrorCode::kTimeout:
      return CaptureReason::kTimeLimit;
    default:
      return CaptureReason::kUnreadable;
  }
}

tl::unexpected<CaptureFailure> failure_of(const Error& error) {
  return tl::make_unexpected(CaptureFailure{reason_of_error(error.code), error.message});
}

using Outputs = std::array<std::optional<ProfileFile>, HeapAnalysed::kMaxFiles>;

Result<Outputs> make_outputs(MemoryBudget* memory) {
  Outputs outputs;
  for (auto& file : outputs) {
    ASSIGN_OR_RETURN(file, ProfileFile::make(memory));
  }
  return outputs;
}

std::vector<int> files_of(const ProcessFiles& process, const Outputs& outputs) {
  std::vector<int> files = {process.memory.get(), process.page_map.get(), process.maps.get(), process.executable.get()};
  for (const MappedFile& library : process.libraries) files.push_back(library.file.get());
  for (const auto& file : outputs) files.push_back(file->fd());
  return files;
}

Result<std::string> run_here(const std::string& parameters, const std::vector<int>& files) {
  std::vector<UniqueFd> given;
  for (const int file : files) given.emplace_back(::dup(file));
  return analyse_heap_job(parameters, given);
}

tl::expected<std::string, CaptureFailure> run(const std::string& parameters, const std::vector<int>& files,
                                              reader::ReaderGroup* reader, MonotonicTime deadline, Nanoseconds* cpu) {
  if (reader == nullptr) {
    auto answer = run_here(parameters, files);
    if (!answer) return failure_of(answer.error());
    return std::move(*answer);
  }
  auto read = reader->run(kAnalyseHeapJob, parameters, files, kMaxAnalysisTime, deadline, {}, cpu);
  if (read) return std::move(*read);
  if (read.error().fault == reader::Fault::kNone) return failure_of(read.error().error);
  return tl::make_unexpected(CaptureFailure{reason_of(read.error().fault), read.error().error.message});
}

}  // namespace

Result<std::string> analyse_heap_job(std::string_view bytes, std::span<const UniqueFd> files) {
  ASSIGN_OR_RETURN(Parameters parameters, (reader::from_wire<Wire, Parameters>(bytes)));
  if (analysis_of(parameters.row) == nullptr) return fail(ErrorCode::kInternal, "not what an analysis needs");
  const std::size_t inputs = kProcessFiles + parameters.libraries.size();
  if (files.size() != inputs + HeapAnalysed::kMaxFiles) return fail(ErrorCode::kInternal, "not the files it needs");
  const MemorySource memory(files[0].get(), parameters.pid);
  const FdSource page_map(files[1].get()), maps(files[2].get()), executable(files[3].get());
  std::vector<FdSource> sources;
  sources.reserve(parameters.libraries.size());
  for (std::size_t i = 0; i < parameters.libraries.size(); ++i) {
    sources.emplace_back(files[kProcessFiles + i].get());
    parameters.libraries[i].file = &sources.back();
    parameters.libraries[i].fd = files[kProcessFiles + i].get();
  }
  const CpuClock clock;
  const HeapAnalysis& row = *analysis_of(parameters.row);
  const AnalysisSubject subject{memory,
                                page_map,
                                maps,
                                executable,
                                files[0].get(),
                                files[1].get(),
                                files[3].get(),
                                parameters.entry,
                                parameters.libraries,
                                clock,
                                clock.now() + parameters.cpu_limit,
                                parameters.pid,
                                parameters.rate};
  if (!row.recognises(subject)) return std::string();
  AnalysisResult result;
  RETURN_IF_ERROR(row.analyse(subject, result));
  result.heap.of = row.of;
  if (gives_contents(row)) {
    result.files.front() = pprof::write(contents_profile(result.heap, clock.wall_now()));
  }
  for (std::size_t i = 0; i < result.files.size(); ++i) {
    RETURN_IF_ERROR(write_all(files[inputs + i].get(), result.files[i]));
  }
  return encode_analysed(std::move(result.heap));
}

std::vector<std::string_view> wanted_libraries() {
  std::vector<std::string_view> wanted;
  for (const HeapAnalysis& row : heap_analyses()) {
    for (const std::string_view library : row.libraries) {
      if (!library.empty()) wanted.push_back(library);
    }
  }
  return wanted;
}

tl::expected<std::optional<AnalysisAnswer>, CaptureFailure> analyse_heap(std::size_t row, const ProcessFiles& process,
                                                                         reader::ReaderGroup* reader,
                                                                         MemoryBudget* memory, MonotonicTime deadline,
                                                                         SampleRate rate, Nanoseconds* cpu) {
  const HeapAnalysis& analysis = *analysis_of(row);
  auto outputs = make_outputs(memory);
  if (!outputs) return tl::make_unexpected(CaptureFailure{CaptureReason::kReaderFailed, outputs.error().message});
  const std::vector<int> files = files_of(process, *outputs);
  auto text = run(reader::to_wire<Wire>(parameters_for(row, process, rate)), files, reader, deadline, cpu);
  if (!text) return tl::make_unexpected(std::move(text).error());
  if (text->empty()) return std::nullopt;
  auto heap = decode_analysed(*text);
  if (!heap) return tl::make_unexpected(CaptureFailure{CaptureReason::kReaderFailed, heap.error().message});
  AnalysisAnswer answer;
  answer.heap = std::move(*heap);
  answer.heap.files.clear();
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    ProfileFile& file = *(*outputs)[i];
    if (analysis.file_names[i] == nullptr || !file.adopt_size(kMaxFileBytes) || file.size() == 0) continue;
    answer.heap.files.push_back({analysis.file_names[i], ""});
    answer.files[answer.heap.files.size() - 1] = std::move(file);
  }
  return answer;
}

}  // namespace oomw
