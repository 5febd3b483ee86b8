// SPDX-License-Identifier: Apache-2.0
#include "sinks/fold_job.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "pprof/codec.h"
#include "pprof/fold.h"
#include "reader/wire.h"
#include "sinks/otlp_profile.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxPacked = 32u << 20;
constexpr std::size_t kMaxFolded = 4u << 20;
constexpr Nanoseconds kTimeLimit = std::chrono::seconds(5), kPatience = std::chrono::seconds(10);

std::string encoded(const pprof::Profile& profile, FoldedForm form) {
  if (form == FoldedForm::kPprof) return pprof::write(profile);
  const OtlpProfile otlp = otlp_profile_of(profile);
  return reader::WireWriter().text(otlp.dictionary).text(otlp.profile).take();
}

}  // namespace

Result<std::string> fold_profile_job(std::string_view parameters, std::span<const UniqueFd> files) {
  reader::WireReader in(parameters);
  const auto form = static_cast<FoldedForm>(in.number());
  if (!in.is_complete() || files.size() != 2) return fail(ErrorCode::kInternal, "not what folding needs");
  ASSIGN_OR_RETURN(const std::string bytes, read_open_file(files[0].get(), "the profile", kMaxPacked));
  ASSIGN_OR_RETURN(pprof::Profile profile, pprof::read(bytes));
  const std::string small = encoded(pprof::folded(std::move(profile), {}), form);
  if (small.size() > kMaxFolded) return fail(ErrorCode::kLimit, "too large even when folded");
  RETURN_IF_ERROR(write_all(files[1].get(), small));
  return reader::WireWriter().number(small.size()).take();
}

Result<std::string> fold_profile(const StoredFile& profile, FoldedForm form, reader::Reader& reader,
                                 MonotonicTime now) {
  const UniqueFd result(::memfd_create("oomw-folded", MFD_CLOEXEC));
  if (!result.is_valid()) return fail_errno(errno, "memfd_create");
  const int files[] = {profile.fd.get(), result.get()};
  const std::string parameters = reader::WireWriter().number(static_cast<std::uint64_t>(form)).take();
  auto answer = reader.run(kFoldProfileJob, parameters, files, kTimeLimit, now + kPatience);
  if (!answer) return tl::make_unexpected(std::move(answer).error().error);
  struct stat status {};
  if (::fstat(result.get(), &status) != 0) return fail_errno(errno, "fstat of a profile in memory");
  if (static_cast<std::uint64_t>(status.st_size) > kMaxFolded) return fail(ErrorCode::kLimit, "too large");
  if (::lseek(result.get(), 0, SEEK_SET) < 0) return fail_errno(errno, "lseek");
  return read_open_file(result.get(), "the folded profile", kMaxFolded);
}

}  // namespace oomw
