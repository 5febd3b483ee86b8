// SPDX-License-Identifier: Apache-2.0
#include "captures/stored_reading.h"

#include <malloc.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "captures/capture_event.h"
#include "captures/facts_wire.h"
#include "facts/collector_components.h"
#include "facts/heap_sites.h"
#include "pprof/codec.h"
#include "runtimes/go/fault_reason.h"
#include "runtimes/go/reading_file.h"

namespace oomw {
namespace {

// From this count on, the allocator holds tens of megabytes that the next capture may need hours later.
constexpr std::size_t kTrimFromHoldings = 5000;
constexpr std::uint64_t kMaxProfile = 48u << 20;
constexpr std::size_t kMaxText = 512;
constexpr Nanoseconds kWritingTime = std::chrono::seconds(2);  // of a profile, once its names are there
constexpr Nanoseconds kBusyNode = std::chrono::seconds(8);     // more, while others have the processors

// The files of one try.
struct TriedFiles {
  UniqueFd input;  // read-only
  ProfileFile profile;
  std::optional<ProfileFile> reading;
};

struct Tried {
  std::optional<TriedFiles> files;
  tl::expected<std::string, reader::Failure> answer;
};

Result<TriedFiles> files_of_try(const ProfileJob& job) {
  ASSIGN_OR_RETURN(UniqueFd read_only, job.input.open_read_only());
  ASSIGN_OR_RETURN(ProfileFile profile, ProfileFile::make(nullptr));
  TriedFiles files{std::move(read_only), std::move(profile), std::nullopt};
  if (job.on_reading) {
    ASSIGN_OR_RETURN(files.reading, ProfileFile::make(nullptr));
  }
  return files;
}

Tried try_once(const ProfileJob& job, int exe, reader::ReaderGroup& readers, const Clock& clock) {
  auto files = files_of_try(job);
  if (!files) {
    return {std::nullopt, tl::make_unexpected(reader::Failure{reader::Fault::kFailed, std::move(files.error())})};
  }
  std::vector<int> given = {files->input.get(), files->profile.fd()};
  if (files->reading) given.push_back(files->reading->fd());
  if (exe >= 0) given.push_back(exe);
  const Nanoseconds limit = exe >= 0 ? job.named_limit : job.unnamed_limit;
  auto answer = readers.run(job.kind, job.parameters, given, limit, clock.now() + limit + kBusyNode, job.owners);
  return {std::move(*files), std::move(answer)};
}

Tried try_twice(const ProfileJob& job, reader::ReaderGroup& readers, const Clock& clock) {
  Tried first = try_once(job, job.exe, readers, clock);
  if (first.answer || first.answer.error().fault == reader::Fault::kNone) return first;
  const bool was_ended = first.answer.error().fault == reader::Fault::kFailed;
  if (!was_ended && job.exe < 0) return first;
  return try_once(job, was_ended ? job.exe : -1, readers, clock);
}

// Beside the reading, which is in a file.
struct StoreParameters {
  std::vector<std::string> patterns;
  std::string provenance;
  CaptureReason shortfall = CaptureReason::kNone;
  std::string summary;
  std::vector<std::string> facts;
  MonotonicTime taken_at, deadline;
  SentProcess process;
};

void describe(auto& v, Of<StoreParameters> auto& given) {
  v("patterns", given.patterns, kPatternRows);
  v("provenance", given.provenance, Chars{kMaxText});
  v("shortfall", given.shortfall);
  v("summary", given.summary, Chars{kMaxText});
  v("facts", given.facts, Items{HeapReading::kMaxFacts, kMaxText});
  v("taken_at", given.taken_at);
  v("deadline", given.deadline);
  v("process", given.process);
}

}  // namespace

CaptureOutcome store_reading(ReadingToStore stored, const RuntimeProcess& process, const OperationPatterns& patterns,
                             const Clock& clock) {
  HeapReading& reading = stored.reading;
  const HeapTotals totals = totals_of(reading);
  const std::size_t count = reading.holdings.size();
  CaptureReason shortfall = reading.is_complete ? CaptureReason::kNone : stored.shortfall;
  if (!reading.is_complete && shortfall == CaptureReason::kNone) shortfall = CaptureReason::kPartial;
  CaptureOutcome outcome;
  TakenHeap heap{process.key, process.kind(), totals.held_bytes,         totals.live_bytes,
                 count,       shortfall,      std::move(reading.summary)};
  {
    const auto profile =
        process.names(clock, stored.deadline)->profile_of(reading, clock.wall_of(stored.taken_at), {stored.provenance});
    reading = HeapReading();
    heap.components = collector_components_of(profile);
    heap.sites = heap_sites_of(profile, patterns);
    outcome.profile = pprof::write(profile, &outcome.string_count);
  }
  outcome.finished = taken(std::move(stored.begun), stored.taken_at, std::move(heap));
  if (count >= kTrimFromHoldings) ::malloc_trim(0);
  return outcome;
}

CaptureOutcome make_profile_apart(const ProfileJob& job, CaptureFinished begun, ProcessKey process,
                                  MonotonicTime taken_at, reader::ReaderGroup& readers, const Clock& clock) {
  const auto failed = [&](CaptureReason reason, const Error& error) {
    return CaptureOutcome{not_taken(begun, taken_at, {reason, printable(error.message)}), ""};
  };
  Tried tried = try_twice(job, readers, clock);
  if (!tried.answer) {
    const CaptureReason reason = reason_of(tried.answer.error().fault);
    return failed(reason == CaptureReason::kNone ? CaptureReason::kReaderFailed : reason, tried.answer.error().error);
  }
  CaptureOutcome outcome;
  auto finished = decode_end(*tried.answer, process, taken_at, begun, outcome.string_count);
  if (!finished) return failed(CaptureReason::kReaderFailed, finished.error());
  if (finished->result == CaptureResult::kOk) {
    if (const auto adopted = tried.files->profile.adopt_size(kMaxProfile); !adopted) {
      return failed(CaptureReason::kReaderLimit, adopted.error());
    }
    if (tried.files->reading) job.on_reading(tried.files->reading->fd());
    outcome.profile_file = std::move(tried.files->profile);
  }
  outcome.finished = std::move(*finished);
  return outcome;
}

CaptureOutcome store_reading_apart(ReadingToStore stored, const GoProcess& process, const OperationPatterns& patterns,
                                   reader::ReaderGroup& readers, const Clock& clock) {
  const auto failed = [&](Error error) {
    return CaptureOutcome{
        not_taken(stored.begun, stored.taken_at, {CaptureReason::kReaderFailed, printable(error.message)}), ""};
  };
  const HeapReading& reading = stored.reading;
  const std::string parameters = reader::to_wire<record::Format>(
      StoreParameters{patterns.rows(), stored.provenance, stored.shortfall, reading.summary, reading.facts,
                      stored.taken_at, stored.deadline, sent(process)});
  auto file = ProfileFile::make(nullptr);
  if (!file) return failed(std::move(file.error()));
  if (auto written = go::write_reading(file->fd(), stored.reading); !written) return failed(std::move(written.error()));
  const bool is_large = stored.reading.holdings.size() >= kTrimFromHoldings;
  stored.reading = HeapReading();
  if (is_large) ::malloc_trim(0);
  const Nanoseconds left = std::max<Nanoseconds>(stored.deadline - clock.now(), {}) + kWritingTime;
  const ProfileJob job{.kind = kStoreReadingJob,
                       .input = *file,
                       .parameters = parameters,
                       .exe = process.exe ? process.exe->fd() : -1,
                       .named_limit = left,
                       .unnamed_limit = kWritingTime,
                       .on_reading = {},
                       .owners = process.file_owners};
  return make_profile_apart(job, std::move(stored.begun), process.key, stored.taken_at, readers, clock);
}

Result<std::string> store_reading_job(std::string_view parameters, std::span<const UniqueFd> files) {
  auto given = reader::from_wire<record::Format, StoreParameters>(parameters);
  const bool are_files_right = files.size() == 2 || files.size() == 3;
  if (!given || !are_files_right) return fail(ErrorCode::kInternal, "not what a reading needs");
  ASSIGN_OR_RETURN(const OperationPatterns patterns, OperationPatterns::make(given->patterns));
  ReadingToStore stored{.reading = {},
                        .begun = {},
                        .taken_at = given->taken_at,
                        .shortfall = given->shortfall,
                        .provenance = given->provenance,
                        .deadline = given->deadline};
  const auto process = received(std::move(given->process), files.size() == 3 ? files[2].get() : -1);
  ASSIGN_OR_RETURN(stored.reading, go::read_reading(files[0].get()));
  stored.reading.summary = std::move(given->summary);
  stored.reading.facts = std::move(given->facts);
  const CaptureOutcome outcome = store_reading(std::move(stored), *process, patterns, SystemClock());
  RETURN_IF_ERROR(write_all(files[1].get(), outcome.profile));
  return encode_end(outcome.finished, outcome.string_count);
}

}  // namespace oomw
