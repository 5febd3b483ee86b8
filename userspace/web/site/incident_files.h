// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "incident/incident.h"
#include "web/http.h"

namespace oomw {

// A file of an incident's directory, which may come from anywhere: neither a link nor a pipe or device.
struct PlainFile {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};
[[nodiscard]] Result<PlainFile> open_plain_file(const std::string& directory, const std::string& name);

struct ListedFile {
  std::string name;
  std::uint64_t bytes = 0;
};
// Of the incident's plain files, by name, at most 1,000.
[[nodiscard]] Result<std::vector<ListedFile>> plain_files_of(const std::string& directory);

// What can be drawn of an incident: profiles that lie in its directory; "" = none.
struct DrawnProfiles {
  std::string best;    // by best_profile_file()
  std::string before;  // what the best one is compared with, by earlier_profile_file()
  std::string growth;  // of what touched new memory first
};
[[nodiscard]] DrawnProfiles drawn_profiles(const std::string& directory, const Incident& incident);
// Whether the best ones are of one kind: heaps, contents or growth.
[[nodiscard]] bool are_comparable(const DrawnProfiles& a, const DrawnProfiles& b);

// A file as it is.
[[nodiscard]] std::shared_ptr<BodySource> stream_of(PlainFile file);

// Every plain file of the directory as a .tar.gz below one folder, made while it is sent: 128 KiB of memory. kLimit:
// more than kMaxArchiveBytes.
inline constexpr std::uint64_t kMaxArchiveBytes = std::uint64_t{1} << 30;
[[nodiscard]] Result<std::shared_ptr<BodySource>> archive_of(const std::string& directory, const std::string& folder);

}  // namespace oomw
