// SPDX-License-Identifier: Apache-2.0
#include "sinks/delivery_marker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxMarkerBytes = 4'096;

std::string marker_name(const std::string& sink) { return std::string(kMarkerPrefix) + sink; }

std::optional<DeliveryMarker> marker_of(const nlohmann::json& json) {
  DeliveryMarker marker;
  const auto at = parse_rfc3339(json.at("at").get<std::string>());
  if (!at || !read_name(json.at("state").get<std::string>(), marker.state)) return std::nullopt;
  marker.at = *at;
  marker.revision = json.at("revision").get<std::string>();
  marker.sent = json.at("sent").get<unsigned>();
  // A reason that a later version writes is "none" to this one.
  (void)read_name(json.at("reason").get<std::string>(), marker.reason);
  marker.detail = printable(json.at("detail").get<std::string>(), kMaxStoredDetail);
  return marker;
}

}  // namespace

std::string to_marker_text(const DeliveryMarker& marker) {
  const nlohmann::ordered_json json = {{"state", to_string(marker.state)},
                                       {"revision", marker.revision},
                                       {"sent", marker.sent},
                                       {"reason", to_string(marker.reason)},
                                       {"detail", printable(marker.detail, kMaxStoredDetail)},
                                       {"at", to_rfc3339(marker.at)}};
  return to_json_utf8(json) + "\n";
}

std::optional<DeliveryMarker> parse_marker(std::string_view text) {
  try {
    return marker_of(parse_json(text));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<DeliveryMarker> read_marker(const std::string& directory, const std::string& sink) {
  const Result<UniqueFd> dir = open_directory(directory);
  if (!dir) return std::nullopt;
  const Result<UniqueFd> fd = open_at(dir->get(), marker_name(sink), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return std::nullopt;
  const Result<std::string> text = read_open_file(fd->get(), marker_name(sink), kMaxMarkerBytes);
  return text ? parse_marker(*text) : std::nullopt;
}

Result<> write_marker(const std::string& directory, const std::string& sink, const DeliveryMarker& marker) {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_directory(directory));
  ASSIGN_OR_RETURN(const UniqueFd fd,
                   open_at(dir.get(), marker_name(sink), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  return write_all(fd.get(), to_marker_text(marker));
}

std::string revision_of(const std::string& directory) {
  struct stat status {};
  if (::lstat((directory + "/incident.json").c_str(), &status) != 0) return "";
  return fmt::format("{}.{:09}-{}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
}

}  // namespace oomw
