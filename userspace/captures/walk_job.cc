// SPDX-License-Identifier: Apache-2.0
#include "captures/walk_job.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file_reader.h"
#include "base/files.h"
#include "base/text.h"
#include "captures/capture_event.h"
#include "captures/facts_wire.h"
#include "captures/walk_capture.h"
#include "reader/wire.h"
#include "runtimes/go/fault_reason.h"
#include "runtimes/go/reading_file.h"

namespace oomw {
namespace {

using reader::WireReader, reader::WireWriter;

constexpr Nanoseconds kNamedTime = std::chrono::seconds(12), kUnnamedTime = std::chrono::seconds(5);
constexpr std::uint64_t kMaxProfile = 48u << 20;
constexpr std::uint64_t kMaxChunk = 4u << 20;
constexpr std::size_t kMaxDetail = 1024;

std::string parameters_of(const HeapWalked& walk, const GoProcess* process, const OperationPatterns& patterns,
                          bool is_reading_wanted) {
  WireWriter out;
  out.text(patterns.text());
  out.number(static_cast<std::uint64_t>(walk.time.ns)).number(static_cast<std::uint64_t>(walk.started.ns));
  out.number(static_cast<std::uint64_t>(walk.process.pid)).number(walk.process.start_ticks).number(walk.cgroup.value);
  out.text(to_string(walk.stop)).number(walk.text_address).number(walk.rate).number(walk.walked).number(walk.clipped);
  out.number(walk.absent).number(walk.bytes).number(walk.has_rate).number(walk.has_cycle);
  out.number(walk.cycle_before).number(walk.cycle_after).number(is_reading_wanted).number(process != nullptr);
  if (process == nullptr) return out.take();
  const go::GoBinary& binary = *process->binary;
  out.text(process->exe ? process->exe->path() : "").text(binary.go_version).text(binary.build_id);
  out.number(static_cast<std::uint64_t>(binary.method)).number(binary.is_position_independent);
  out.number(binary.text.begin).number(binary.text.end).number(process->target.has_value());
  const go::HeapTarget target = process->target.value_or(go::HeapTarget{});
  return out.number(static_cast<std::uint64_t>(target.method)).number(target.load_bias).take();
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

go::LocateMethod read_method(WireReader& in) {
  constexpr auto kLast = static_cast<std::uint64_t>(go::LocateMethod::kScan);
  return static_cast<go::LocateMethod>(std::min(in.number(), kLast));
}

std::shared_ptr<GoProcess> read_process(WireReader& in, ProcessKey key, std::string& exe_path) {
  auto process = std::make_shared<GoProcess>();
  auto binary = std::make_shared<go::GoBinary>();
  process->key = key;
  exe_path = in.text();
  binary->go_version = in.text();
  binary->build_id = in.text();
  binary->method = read_method(in);
  binary->is_position_independent = in.number() != 0;
  binary->text = {in.number(), 0};
  binary->text.end = in.number();
  const bool has_target = in.number() != 0;
  go::HeapTarget target;
  target.method = read_method(in);
  target.load_bias = in.number();
  if (has_target) process->target = target;
  process->binary = std::move(binary);
  return process;
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

std::string answer_of(const CaptureFinished& finished, std::uint64_t string_count) {
  WireWriter out;
  out.number(finished.result == CaptureResult::kOk).text(to_string(finished.reason));
  out.text(printable(finished.detail, kMaxDetail)).number(string_count);
  if (finished.result != CaptureResult::kOk) return out.take();
  out.number(finished.live_bytes.value_or(0));
  ProfileFacts facts;
  facts.inuse_bytes = finished.inuse_bytes.value_or(0);
  facts.sample_count = finished.sample_count.value_or(0);
  facts.of = finished.of;
  facts.components = finished.components;
  facts.sites = finished.sites;
  write_facts(out, facts);
  return out.take();
}

// The files of one try.
struct GivenFiles {
  UniqueFd records;  // read-only
  ProfileFile profile, reading;
};

Result<GivenFiles> files_for(const WalkRecords& records) {
  ASSIGN_OR_RETURN(UniqueFd read_only, records.file().open_read_only());
  ASSIGN_OR_RETURN(ProfileFile profile, ProfileFile::make(nullptr));
  ASSIGN_OR_RETURN(ProfileFile reading, ProfileFile::make(nullptr));
  return GivenFiles{std::move(read_only), std::move(profile), std::move(reading)};
}

struct Tried {
  std::optional<GivenFiles> files;
  tl::expected<std::string, reader::Failure> answer;
};

Tried try_once(const WalkRecords& records, const std::string& parameters, int exe, reader::ReaderGroup& readers,
               const Clock& clock) {
  auto files = files_for(records);
  if (!files) {
    return {std::nullopt, tl::make_unexpected(reader::Failure{reader::Fault::kFailed, std::move(files.error())})};
  }
  std::vector<int> given = {files->records.get(), files->profile.fd(), files->reading.fd()};
  if (exe >= 0) given.push_back(exe);
  const Nanoseconds limit = exe >= 0 ? kNamedTime : kUnnamedTime;
  auto answer = readers.run(kWalkJob, parameters, given, limit, clock.now() + limit, {});
  return {std::move(*files), std::move(answer)};
}

// A process that ended by no fault of the walk, for want of memory on the node, is replaced once. Otherwise the second
// try is without names.
Tried try_twice(const WalkRecords& records, const std::string& parameters, int exe, reader::ReaderGroup& readers,
                const Clock& clock) {
  Tried first = try_once(records, parameters, exe, readers, clock);
  if (first.answer || first.answer.error().fault == reader::Fault::kNone) return first;
  const bool was_ended = first.answer.error().fault == reader::Fault::kFailed;
  if (!was_ended && exe < 0) return first;
  return try_once(records, parameters, was_ended ? exe : -1, readers, clock);
}

CaptureFinished begun_at(const HeapWalked& walk, const GoProcess* process) {
  const std::string path = process != nullptr && process->exe ? process->exe->path() : "";
  const CaptureTarget victim{walk.process, walk.cgroup, path.substr(path.rfind('/') + 1), ""};
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
  if (files.size() < 3 || files.size() > 4) return fail(ErrorCode::kInternal, "not the files of a walk");
  if (given.process && files.size() == 4) {
    given.process->exe = std::make_shared<const ExeHandle>(UniqueFd(::dup(files[3].get())), FileIdentity{},
                                                           given.exe_path, std::make_shared<ExeHandle::Unused>());
  }
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
  return answer_of(outcome.finished, outcome.string_count);
}

Result<CaptureFinished> decode_walk_answer(std::string_view answer, const HeapWalked& walk, CaptureFinished begun,
                                           std::uint64_t& string_count) {
  WireReader in(answer);
  const bool is_ok = in.number() == 1;
  CaptureReason reason = CaptureReason::kNone;
  const std::string_view name = in.text();
  const bool is_known = name.empty() || read_name(name, reason);
  std::string detail = printable(in.text(), kMaxDetail);
  string_count = in.number();
  if (!is_ok) {
    if (!in.is_complete() || !is_known) return fail(ErrorCode::kInvalid, "the reader answered something else");
    return not_taken(std::move(begun), walk.time, {reason, std::move(detail)});
  }
  const std::uint64_t live_bytes = in.number();
  ProfileFacts facts = read_facts(in);
  if (!in.is_complete() || !is_known) return fail(ErrorCode::kInvalid, "the reader answered something else");
  TakenHeap heap{walk.process, facts.of, facts.inuse_bytes, live_bytes, facts.sample_count, reason, std::move(detail)};
  heap.components = std::move(facts.components);
  heap.sites = std::move(facts.sites);
  return taken(std::move(begun), walk.time, std::move(heap));
}

CaptureOutcome decode_walk(const HeapWalked& walk, const GoProcessPtr& process, const WalkRecords& records,
                           reader::ReaderGroup& readers, const Clock& clock, const ReadingWatcher& watcher,
                           const OperationPatterns& patterns) {
  CaptureFinished begun = begun_at(walk, process.get());
  const auto failed = [&](CaptureReason reason, const Error& error) {
    return CaptureOutcome{not_taken(begun, walk.time, {reason, printable(error.message)}), ""};
  };
  const std::string parameters = parameters_of(walk, process.get(), patterns, static_cast<bool>(watcher));
  const int exe = process && process->exe ? process->exe->fd() : -1;
  Tried tried = try_twice(records, parameters, exe, readers, clock);
  if (!tried.answer) {
    const CaptureReason reason = reason_of(tried.answer.error().fault);
    return failed(reason == CaptureReason::kNone ? CaptureReason::kReaderFailed : reason, tried.answer.error().error);
  }
  CaptureOutcome outcome;
  auto finished = decode_walk_answer(*tried.answer, walk, begun, outcome.string_count);
  if (!finished) return failed(CaptureReason::kReaderFailed, finished.error());
  if (finished->result == CaptureResult::kOk) {
    if (const auto adopted = tried.files->profile.adopt_size(kMaxProfile); !adopted) {
      return failed(CaptureReason::kReaderLimit, adopted.error());
    }
    if (watcher) show_reading(tried.files->reading.fd(), walk, process, watcher);
    outcome.profile_file = std::move(tried.files->profile);
  }
  outcome.finished = std::move(*finished);
  return outcome;
}

}  // namespace oomw
