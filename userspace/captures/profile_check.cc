// SPDX-License-Identifier: Apache-2.0
#include "captures/profile_check.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/files.h"
#include "captures/facts_wire.h"
#include "pprof/codec.h"
#include "pprof/gzip.h"
#include "runtimes/go/fault_reason.h"

namespace oomw {
namespace {

// The most that is accepted, 390,000 locations, took 2 s on two CPUs that 25 threads wanted.
constexpr Nanoseconds kCheckTime = std::chrono::seconds(3);
constexpr std::uint64_t kMaxPacked = 48u << 20;

// A file's bytes, read where they lie.
class MappedBytes {
 public:
  static Result<MappedBytes> make(int fd, std::uint64_t size) {
    if (size == 0) return MappedBytes(nullptr, 0);
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (start == MAP_FAILED) return fail(ErrorCode::kLimit, "no room to read it");
    return MappedBytes(start, size);
  }
  MappedBytes(MappedBytes&& other) noexcept : start_(std::exchange(other.start_, nullptr)), size_(other.size_) {}
  MappedBytes& operator=(MappedBytes&&) = delete;
  ~MappedBytes() {
    if (start_ != nullptr) ::munmap(start_, size_);
  }
  [[nodiscard]] std::string_view view() const { return {static_cast<const char*>(start_), size_}; }

 private:
  MappedBytes(void* start, std::uint64_t size) : start_(start), size_(size) {}
  void* start_;
  std::size_t size_;
};

CaptureReason reason_of_bad(const Error& bad_profile) {
  if (bad_profile.code == ErrorCode::kLimit) return CaptureReason::kTooLarge;
  return bad_profile.message.find("truncated") != std::string::npos ? CaptureReason::kTruncated
                                                                    : CaptureReason::kNotAProfile;
}

tl::unexpected<CaptureFailure> failed(const Error& error) {
  return tl::make_unexpected(CaptureFailure{reason_of_bad(error), error.message});
}

struct GivenFiles {
  UniqueFd profile;  // read-only
  ProfileFile packed;
};

Result<GivenFiles> files_for(const ProfileFile& profile, MemoryBudget* memory) {
  ASSIGN_OR_RETURN(UniqueFd read_only, profile.open_read_only());
  ASSIGN_OR_RETURN(ProfileFile packed, ProfileFile::make(memory));
  return GivenFiles{std::move(read_only), std::move(packed)};
}

Result<std::string> run_here(const std::string& parameters, const GivenFiles& files) {
  std::vector<UniqueFd> given;
  given.emplace_back(::dup(files.profile.get()));
  given.emplace_back(::dup(files.packed.fd()));
  return check_profile_job(parameters, given);
}

struct CheckParameters {
  std::uint64_t size = 0;
  std::vector<std::string> patterns;
};

void describe(auto& v, Of<CheckParameters> auto& given) {
  v("size", given.size);
  v("patterns", given.patterns, kPatternRows);
}

}  // namespace

static void describe(auto& v, Of<CheckedProfile> auto& checked) {
  v("facts", checked.facts);
  v("string_count", checked.string_count);
  v("is_packed_anew", checked.is_packed_anew);
}

Result<std::string> check_profile_job(std::string_view parameters, std::span<const UniqueFd> files) {
  const auto given = reader::from_wire<record::Format, CheckParameters>(parameters);
  if (!given || files.size() != 2) return fail(ErrorCode::kInternal, "not what a check needs");
  ASSIGN_OR_RETURN(const OperationPatterns patterns, OperationPatterns::make(given->patterns));
  ASSIGN_OR_RETURN(const MappedBytes bytes, MappedBytes::make(files[0].get(), given->size));
  CheckedProfile checked;
  ASSIGN_OR_RETURN(checked.facts, facts_of_profile(bytes.view(), patterns, &checked.string_count));
  checked.is_packed_anew = !pprof::is_gzip(bytes.view());
  if (checked.is_packed_anew) {
    RETURN_IF_ERROR(
        pprof::gzip_into(bytes.view(), [&](std::string_view piece) { return write_all(files[1].get(), piece); }));
  }
  fit_in_message(checked.facts);
  return reader::to_wire<record::Format>(checked);
}

Result<CheckedProfile> decode_checked_profile(std::string_view answer) {
  return reader::from_wire<record::Format, CheckedProfile>(answer);
}

tl::expected<CheckedProfile, CaptureFailure> check_profile(ProfileFile& profile, const OperationPatterns& patterns,
                                                           MemoryBudget* memory, reader::Reader* reader,
                                                           MonotonicTime deadline) {
  auto files = files_for(profile, memory);
  if (!files) return tl::make_unexpected(CaptureFailure{CaptureReason::kReaderFailed, files.error().message});
  const std::string parameters = reader::to_wire<record::Format>(CheckParameters{profile.size(), patterns.rows()});
  Result<std::string> answer;
  if (reader == nullptr) {
    answer = run_here(parameters, *files);
    if (!answer) return failed(answer.error());
  } else {
    const int given[] = {files->profile.get(), files->packed.fd()};
    auto read = reader->run(kCheckProfileJob, std::move(parameters), given, kCheckTime, deadline);
    if (!read && read.error().fault == reader::Fault::kNone) return failed(read.error().error);
    if (!read) {
      return tl::make_unexpected(CaptureFailure{reason_of(read.error().fault), read.error().error.message});
    }
    answer = std::move(*read);
  }
  auto checked = decode_checked_profile(*answer);
  if (!checked) return tl::make_unexpected(CaptureFailure{CaptureReason::kReaderFailed, checked.error().message});
  if (!checked->is_packed_anew) return *checked;
  if (const auto adopted = files->packed.adopt_size(kMaxPacked); !adopted) return failed(adopted.error());
  profile = std::move(files->packed);
  return *checked;
}

}  // namespace oomw
