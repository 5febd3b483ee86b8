// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "incident/incident.h"

namespace oomw {

// A profile beside an incident that its report shows something of.
struct ReportProfile {
  enum class Use {
    kTop,    // its top functions
    kBest,   // the same; growth leads up to it
    kTrend,  // growth begins with the oldest of these
    kFirst   // or with this one, where there is no trend
  };
  std::string file;
  Use use = Use::kTop;
};
// As many as have a use: four methods, the trend's three points and the first capture.
inline constexpr std::size_t kMaxReportProfiles = 12;
// Users wait for the incident while its report is written, so a larger profile is left to the command line. Usually
// one has 1-8 KB.
inline constexpr std::size_t kMaxTopBytes = 1u << 20;

// The best capture, the newest of each other method, and those to show growth from: the same process's trend profiles
// if the incident has any, else its first capture. The oldest first. Pure.
[[nodiscard]] std::vector<ReportProfile> report_profiles(const Incident& incident);

// The bytes of the profile with this index.
using ReadProfileBytes = std::function<Result<std::string>(std::size_t)>;
// A profile that cannot be read or is none has no text.
[[nodiscard]] ProfileTexts texts_of(std::span<const ReportProfile> profiles, const ReadProfileBytes& read);

struct ReadTexts {
  ProfileTexts texts;
  bool has_unread = false;  // there was no time, or what reads them failed
};

// The texts of an incident's profiles in `directory`, by this process. The daemon has its reader do that:
// report/profile_texts.h.
[[nodiscard]] ProfileTexts read_profiles(const Incident& incident, const std::string& directory);

}  // namespace oomw
