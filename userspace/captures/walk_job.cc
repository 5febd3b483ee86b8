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
#include "reader/wire.h"
#include "runtimes/go/reading_file.h"

namespace oomw {
namespace {

using reader::WireReader, reader::WireWriter;

constexpr Nanoseconds kWalkTime = std::chrono::seconds(12);
constexpr std::uint64_t kMaxChunk = 4u << 20;

std::string walk_parameters(const HeapWalked& walk, const GoProcess* process, const OperationPatterns& patterns,
                            bool is_reading_wanted) {
  WireWriter out;
  out.text(patterns.text());
  out.number(static_cast<std::uint64_t>(walk.time.ns)).number(static_cast<std::uint64_t>(walk.started.ns));
  out.number(static_cast<std::uint64_t>(walk.process.pid)).number(walk.process.start_ticks).number(walk.cgroup.value);
  out.text(to_string(walk.stop)).number(walk.text_address).number(walk.rate).number(walk.walked).number(walk.clipped);
  out.number(walk.absent).number(walk.bytes).number(walk.has_rate).number(walk.has_cycle);
  out.number(walk.cycle_before).number(walk.cycle_after).number(is_reading_wanted).number(process != nullptr);
  if (process != nullptr) write_process(out, *process);
  return out.take();
}

struct WalkParameters {
  OperationPatterns patterns;
  HeapWalked walk;
  bool is_reading_wanted = false;
  std::shared_ptr<GoProcess> process;
  std::string exe_path;
};

void read_walk(WireReader& in, HeapWalked& walk) {
  walk.time.ns = in.signed_number();
  walk.started.ns = in.signed_number();
  walk.process.pid = static_cast<std::int32_t>(in.number());
  walk.process.start_ticks = in.number();
  walk.cgroup.value = in.number();
  (void)read_name(in.text(), walk.stop);
  walk.text_address = in.number();
  walk.rate = in.number();
  walk.walked = in.number();
  walk.clipped = in.number();
  walk.absent = in.number();
  walk.bytes = in.number();
  walk.has_rate = in.number() != 0;
  walk.has_cycle = in.number() != 0;
  walk.cycle_before = static_cast<std::uint32_t>(in.number());
  walk.cycle_after = static_cast<std::uint32_t>(in.number());
}

Result<WalkParameters> read_parameters(std::string_view parameters) {
  WireReader in(parameters);
  WalkParameters read;
  ASSIGN_OR_RETURN(read.patterns, OperationPatterns::of_text(in.text()));
  read_walk(in, read.walk);
  read.is_reading_wanted = in.number() != 0;
  if (in.number() != 0) read.process = read_process(in, read.walk.process, read.exe_path);
  if (!in.is_complete()) return fail(ErrorCode::kInternal, "not what a walk needs");
  return read;
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
  ASSIGN_OR_RETURN(WalkParameters given, read_parameters(parameters));
  const std::size_t needed = given.is_reading_wanted ? 3 : 2;
  if (files.size() < needed || files.size() > needed + 1) return fail(ErrorCode::kInternal, "not the files of a walk");
  if (given.process && files.size() > needed) open_executable(*given.process, files[needed].get(), given.exe_path);
  WalkDecoder decoder(given.walk, given.process, std::move(given.patterns));
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
  ProfileJob job{.kind = kWalkJob,
                 .input = records.file(),
                 .parameters = walk_parameters(walk, process.get(), patterns, static_cast<bool>(watcher)),
                 .exe = process && process->exe ? process->exe->fd() : -1,
                 .named_limit = kWalkTime,
                 .unnamed_limit = kWalkTime,
                 .on_reading = {},
                 .owners = {}};
  if (watcher) job.on_reading = [&](int file) { show_reading(file, walk, process, watcher); };
  return make_profile_apart(job, std::move(begun), walk.process, walk.time, readers, clock);
}

}  // namespace oomw
