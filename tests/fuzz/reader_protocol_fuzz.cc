// SPDX-License-Identifier: Apache-2.0
// Both directions between the daemon and its reader: a reader in foreign hands answers anything.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "captures/facts_wire.h"
#include "captures/profile_check.h"
#include "captures/stored_reading.h"
#include "captures/walk_job.h"
#include "reader/protocol.h"
#include "report/profile_texts.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/inspection_jobs.h"
#include "runtimes/go/names_job.h"
#include "runtimes/go/reading_file.h"

namespace {

// As the reader writes into it.
int file_of(std::string_view bytes) {
  static const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  OOMW_CHECK(::ftruncate(fd, 0) == 0);
  OOMW_CHECK(::pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oomw;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto answer = reader::decode_answer(bytes)) {
    OOMW_CHECK(reader::encode(*answer).value() == bytes);
    (void)decode_checked_profile(answer->payload);
  }
  if (const auto job = reader::decode_job(bytes)) OOMW_CHECK(job->parameters.size() < size);
  (void)decode_checked_profile(bytes);
  static const ReportProfile kProfiles[] = {{"a", ReportProfile::Use::kTop}, {"b", ReportProfile::Use::kBest}};
  if (const auto texts = decode_profile_texts(bytes, kProfiles)) OOMW_CHECK(texts->tops.size() <= 2);
  (void)profile_texts_job(bytes, {});
  std::uint64_t string_count = 0;
  if (const auto finished = decode_end(bytes, {}, {}, {}, string_count)) {
    OOMW_CHECK(finished->result != CaptureResult::kOk ||
               finished->complete == (finished->reason == CaptureReason::kNone));
  }
  (void)walk_job(bytes, {});
  (void)store_reading_job(bytes, {});
  if (const auto binary = go::decode_binary(bytes)) {
    OOMW_CHECK(binary->is_go || binary->profiling == go::Profiling::kNotFound ||
               binary->profiling == go::Profiling::kLinkedOut);
    const auto again = go::decode_binary(go::encode_binary(*binary));
    OOMW_CHECK(again.has_value() && again->variables == binary->variables);
  }
  if (const auto head = go::decode_list_head(bytes, {4096, 8192})) OOMW_CHECK(*head >= 4096 && *head < 8192);
  (void)go::inspect_binary_job(bytes, {});
  (void)go::find_list_head_job(bytes, {});
  if (const auto evidence = go::decode_evidence(bytes, file_of(bytes))) {
    OOMW_CHECK(evidence->reading.has_value() == (evidence->failure.reason == CaptureReason::kNone));
  }
  if (const auto reading = go::read_reading(file_of(bytes))) OOMW_CHECK(reading->holdings.size() * 64 <= size);
  (void)go::read_heap_job(bytes, {});
  static const go::WantedAddress kWanted[] = {{1, false}, {2, true}};
  if (const auto named = go::read_named(file_of(bytes), kWanted)) {
    go::FrameTable table;
    table.want(std::array<std::uint64_t, 2>{1, 2}, 0);
    table.add(*named);
    OOMW_CHECK(!table.stack(std::array<std::uint64_t, 2>{1, 2}, 0).empty() || named->frames.size() <= 2);
  }
  (void)go::name_frames_job(bytes, {});
  return 0;
}
