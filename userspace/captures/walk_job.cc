// SPDX-License-Identifier: Apache-2.0
#include "captures/walk_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file_reader.h"
#include "base/files.h"
#include "base/text.h"
#include "captures/capture_event.h"
#include "captures/facts_wire.h"
#include "captures/stored_reading.h"
#include "captures/walk_capture.h"
#include "runtimes/go/reading_file.h"

namespace oomw {
namespace {

constexpr Nanoseconds kWalkTime = std::chrono::seconds(12);
constexpr std::uint64_t kMaxChunk = 4u << 20;

struct WalkParameters {
  std::vector<std::string> patterns;
  HeapWalked walk;  // without what its chunks tell
  bool is_reading_wanted = false;
  std::optional<SentProcess> process;
};

void describe(auto& v, Of<WalkParameters> auto& given) {
  auto& walk = given.walk;
  v("patterns", given.patterns, kPatternRows);
  v("time", walk.time);
  v("started", walk.started);
  v("pid", walk.process.pid);
  v("start_ticks", walk.process.start_ticks);
  v("cgroup", walk.cgroup.value);
  v("stop", walk.stop);
  v("text_address", walk.text_address);
  v("rate", walk.rate);
  v("walked", walk.walked);
  v("clipped", walk.clipped);
  v("absent", walk.absent);
  v("bytes", walk.bytes);
  v("has_rate", walk.has_rate);
  v("has_cycle", walk.has_cycle);
  v("cycle_before", walk.cycle_before);
  v("cycle_after", walk.cycle_after);
  v("is_reading_wanted", given.is_reading_wanted);
  v("process", given.process);
}

Result<> add_records(int fd, WalkDecoder& decoder) {
  FileReader file(fd);
  std::vector<std::byte> chunk;
  for (std::uint64_t size = 0; file.read_numbers(std::span(&size, 1));) {
    if (size > kMaxChunk) return fail(ErrorCode::kInternal, "a chunk is too long");
    chunk.resize(size);
    if (!file.read(chunk)) return fail(ErrorCode::kInternal, "a chunk ends early");
    decoder.add(chunk);
  }
  return {};
}

CaptureFinished begun_at(const HeapWalked& walk, const GoProcess* process) {
  const std::string path = process != nullptr && process->exe ? process->exe->path() : "";
  const CaptureTarget victim{walk.process, walk.cgroup, std::string(base_name(path)), ""};
  return begin_capture(request_at_kill(victim), CaptureMethod::kAtKill, walk.started);
}

void show_reading(int fd, const HeapWalked& walk, const GoProcessPtr& process, const ReadingWatcher& watcher) {
  const auto reading = go::read_reading(fd);
  if (!reading || !watcher) return;
  if (process) return watcher(*process, *reading);
  watcher(*stand_in_process(walk.process), *reading);
}

}  // namespace

Result<WalkRecords> WalkRecords::make() {
  ASSIGN_OR_RETURN(ProfileFile file, ProfileFile::make(nullptr));
  return WalkRecords(std::move(file));
}

void WalkRecords::add(std::span<const std::byte> chunk) {
  const std::uint64_t size = chunk.size();
  std::string framed(reinterpret_cast<const char*>(&size), sizeof size);
  framed.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  (void)file_.append(framed);
}

Result<std::string> walk_job(std::string_view parameters, std::span<const UniqueFd> files) {
  ASSIGN_OR_RETURN(WalkParameters given, (reader::from_wire<record::Format, WalkParameters>(parameters)));
  ASSIGN_OR_RETURN(OperationPatterns patterns, OperationPatterns::make(given.patterns));
  const std::size_t needed = given.is_reading_wanted ? 3 : 2;
  if (files.size() < needed || files.size() > needed + 1) return fail(ErrorCode::kInternal, "not the files of a walk");
  GoProcessPtr process;
  if (given.process) process = received(std::move(*given.process), files.size() > needed ? files[needed].get() : -1);
  WalkDecoder decoder(given.walk, process, std::move(patterns));
  RETURN_IF_ERROR(add_records(files[0].get(), decoder));
  Result<> is_written;
  ReadingWatcher watcher;
  if (given.is_reading_wanted) {
    watcher = [&](const RuntimeProcess&, const HeapReading& reading) {
      is_written = go::write_reading(files[2].get(), reading);
    };
  }
  const CaptureOutcome outcome = decoder.finish(SystemClock(), watcher);
  RETURN_IF_ERROR(is_written);
  RETURN_IF_ERROR(write_all(files[1].get(), outcome.profile));
  return encode_end(outcome.finished, outcome.string_count);
}

CaptureOutcome decode_walk(const HeapWalked& walk, const GoProcessPtr& process, const WalkRecords& records,
                           reader::ReaderGroup& readers, const Clock& clock, const ReadingWatcher& watcher,
                           const OperationPatterns& patterns) {
  CaptureFinished begun = begun_at(walk, process.get());
  WalkParameters given{patterns.rows(), walk, static_cast<bool>(watcher), {}};
  if (process) given.process = sent(*process);
  ProfileJob job{.kind = kWalkJob,
                 .input = records.file(),
                 .parameters = reader::to_wire<record::Format>(given),
                 .exe = process && process->exe ? process->exe->fd() : -1,
                 .named_limit = kWalkTime,
                 .unnamed_limit = kWalkTime,
                 .on_reading = {},
                 .owners = {}};
  if (watcher) job.on_reading = [&](int file) { show_reading(file, walk, process, watcher); };
  return make_profile_apart(job, std::move(begun), walk.process, walk.time, readers, clock);
}

}  // namespace oomw
