// SPDX-License-Identifier: Apache-2.0
#include "pprof/check.h"

#include <string>
#include <unordered_set>

namespace oomw::pprof {
namespace {

using IdSet = std::unordered_set<std::uint64_t>;

template <typename Item>
Result<IdSet> unique_ids(const std::vector<Item>& items, const char* what) {
  IdSet ids;
  ids.reserve(items.size());
  for (const auto& item : items) {
    if (item.id == 0) return fail(ErrorCode::kInvalid, std::string(what) + " with id 0");
    if (!ids.insert(item.id).second) {
      return fail(ErrorCode::kInvalid, std::string("two of ") + what + " " + std::to_string(item.id));
    }
  }
  return ids;
}

Result<> missing(const char* what, std::uint64_t id) {
  return fail(ErrorCode::kInvalid, std::string("no ") + what + " " + std::to_string(id));
}

Result<> check_locations(const Profile& profile, const IdSet& mappings, const IdSet& functions) {
  for (const auto& location : profile.locations) {
    if (location.mapping_id != 0 && !mappings.contains(location.mapping_id)) {
      return missing("mapping", location.mapping_id);
    }
    for (const auto& line : location.lines) {
      if (line.function_id != 0 && !functions.contains(line.function_id)) return missing("function", line.function_id);
    }
  }
  return {};
}

Result<> check_samples(const Profile& profile, const IdSet& locations) {
  for (const auto& sample : profile.samples) {
    if (sample.values.size() != profile.sample_types.size()) {
      return fail(ErrorCode::kInvalid, "a sample has " + std::to_string(sample.values.size()) + " values for " +
                                           std::to_string(profile.sample_types.size()) + " types");
    }
    for (const std::uint64_t id : sample.location_ids) {
      if (!locations.contains(id)) return missing("location", id);
    }
  }
  return {};
}

}  // namespace

Result<> check(const Profile& profile) {
  if (profile.sample_types.empty()) return fail(ErrorCode::kInvalid, "no sample types");
  ASSIGN_OR_RETURN(const IdSet mappings, unique_ids(profile.mappings, "mapping"));
  ASSIGN_OR_RETURN(const IdSet functions, unique_ids(profile.functions, "function"));
  ASSIGN_OR_RETURN(const IdSet locations, unique_ids(profile.locations, "location"));
  RETURN_IF_ERROR(check_locations(profile, mappings, functions));
  return check_samples(profile, locations);
}

}  // namespace oomw::pprof
