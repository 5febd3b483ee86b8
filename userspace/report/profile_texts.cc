// SPDX-License-Identifier: Apache-2.0
#include "report/profile_texts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "reader/wire.h"

namespace oomw {
namespace {

using reader::WireReader, reader::WireWriter;
using Use = ReportProfile::Use;

// A top of 12 rows whose names have 256 characters of four bytes has 13 KiB, growth by stack 330 KiB.
constexpr std::size_t kMaxTop = 32u << 10;
constexpr std::size_t kMaxGrowth = 512u << 10;
constexpr std::size_t kMaxTexts = 1u << 20;
constexpr Nanoseconds kPatience = std::chrono::seconds(1);

// The profiles that are there, each with an open file.
struct GivenProfiles {
  std::vector<ReportProfile> profiles;
  std::vector<UniqueFd> files;
};

Result<UniqueFd> open_profile(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "fstat " + path);
  const bool is_fit = S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) <= kMaxTopBytes;
  if (!is_fit) return fail(ErrorCode::kLimit, "no file, or a large one");
  return fd;
}

GivenProfiles open_profiles(const Incident& incident, const std::string& directory) {
  GivenProfiles given;
  for (ReportProfile& profile : report_profiles(incident)) {
    auto fd = open_profile(directory + "/" + profile.file);
    if (!fd) continue;
    given.files.push_back(std::move(*fd));
    given.profiles.push_back(std::move(profile));
  }
  return given;
}

std::string parameters_of(const std::vector<ReportProfile>& profiles) {
  WireWriter out;
  out.number(profiles.size());
  for (const ReportProfile& profile : profiles) {
    out.text(profile.file).number(static_cast<std::uint64_t>(profile.use));
  }
  return out.take();
}

std::vector<ReportProfile> profiles_of(std::string_view parameters) {
  WireReader in(parameters);
  std::vector<ReportProfile> profiles(std::min<std::uint64_t>(in.number(), kMaxReportProfiles));
  for (ReportProfile& profile : profiles) {
    profile.file = in.text();
    profile.use = static_cast<Use>(in.number());
  }
  if (!in.is_complete()) profiles.clear();
  return profiles;
}

std::string encode(const ProfileTexts& texts) {
  WireWriter out;
  out.number(texts.tops.size());
  for (const auto& [file, top] : texts.tops) out.text(file).text(top);
  return out.text(texts.growth).take();
}

bool has_top(std::span<const ReportProfile> profiles, std::string_view file) {
  for (const ReportProfile& profile : profiles) {
    if (profile.file == file && (profile.use == Use::kTop || profile.use == Use::kBest)) return true;
  }
  return false;
}

// Each line printable.
std::string printable_lines(std::string_view text, std::size_t max_bytes) {
  std::string lines;
  for (const std::string_view line : split(text.substr(0, max_bytes), '\n')) lines += printable(line, max_bytes) + "\n";
  lines.pop_back();
  return lines;
}

ReadTexts excuse(std::span<const ReportProfile> profiles, std::string_view why, const std::string& detail) {
  ProfileTexts texts;
  for (const ReportProfile& profile : profiles) {
    if (!has_top({&profile, 1}, profile.file)) continue;
    texts.tops[profile.file] =
        "(not read for this report: " + std::string(why) + ": " + printable(detail) + "; `oomwitness top` reads it)\n";
  }
  return {std::move(texts), true};
}

Result<std::string> content_of(int fd) {
  if (::lseek(fd, 0, SEEK_SET) != 0) return fail_errno(errno, "lseek");
  ASSIGN_OR_RETURN(std::string bytes, read_open_file(fd, "the report's texts", kMaxTexts + 1));
  if (bytes.size() > kMaxTexts) return fail(ErrorCode::kLimit, "more than a report has room for");
  return bytes;
}

}  // namespace

Result<std::string> profile_texts_job(std::string_view parameters, std::span<const UniqueFd> files) {
  const std::vector<ReportProfile> profiles = profiles_of(parameters);
  if (profiles.empty() || files.size() != profiles.size() + 1) {
    return fail(ErrorCode::kInternal, "not what a report needs");
  }
  const auto read = [&](std::size_t index) { return read_open_file(files[index].get(), "profile", kMaxTopBytes + 1); };
  RETURN_IF_ERROR(write_all(files.back().get(), encode(texts_of(profiles, read))));
  return std::string();
}

Result<ProfileTexts> decode_profile_texts(std::string_view bytes, std::span<const ReportProfile> profiles) {
  WireReader in(bytes);
  ProfileTexts texts;
  for (std::uint64_t left = std::min<std::uint64_t>(in.number(), kMaxReportProfiles); left > 0; --left) {
    const std::string_view file = in.text(), top = in.text();
    if (has_top(profiles, file)) texts.tops[std::string(file)] = printable_lines(top, kMaxTop);
  }
  texts.growth = printable_lines(in.text(), kMaxGrowth);
  if (!in.is_complete()) return fail(ErrorCode::kInvalid, "the reader answered something else");
  return texts;
}

ReadTexts read_profiles_apart(const Incident& incident, const std::string& directory, reader::ReaderGroup& readers,
                              const Clock& clock, Nanoseconds limit) {
  const auto [profiles, files] = open_profiles(incident, directory);
  if (profiles.empty()) return {};
  const UniqueFd written(::memfd_create("oomw-report", MFD_CLOEXEC));
  if (!written.is_valid()) return excuse(profiles, "failed", "no memory for its texts");
  std::vector<int> given;
  for (const UniqueFd& file : files) given.push_back(file.get());
  given.push_back(written.get());
  const MonotonicTime deadline = clock.now() + limit + kPatience;
  const auto answer = readers.run(kProfileTextsJob, parameters_of(profiles), given, limit, deadline, {});
  if (!answer) return excuse(profiles, to_string(answer.error().fault), answer.error().error.message);
  const auto bytes = content_of(written.get());
  if (!bytes) return excuse(profiles, "failed", bytes.error().message);
  auto texts = decode_profile_texts(*bytes, profiles);
  return texts ? ReadTexts{std::move(*texts)} : excuse(profiles, "failed", texts.error().message);
}

}  // namespace oomw
