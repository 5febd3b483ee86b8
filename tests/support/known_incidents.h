// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/source_tree.h"

namespace oomw::test {

// The incidents of "tests/pipeline/golden" (incident.json of each folder), or of a folder of .json files that hold one
// or several, one after the other.
inline std::vector<nlohmann::ordered_json> incidents_below(const std::string& folder) {
  std::vector<nlohmann::ordered_json> incidents;
  const std::filesystem::path root = source_tree() + "/" + folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const bool is_of_folder = entry.path().parent_path() == root && entry.path().extension() == ".json";
    if (!is_of_folder && entry.path().filename() != "incident.json") continue;
    std::ifstream file(entry.path());
    while (file >> std::ws && file.peek() == '{') file >> incidents.emplace_back();
  }
  return incidents;
}

}  // namespace oomw::test
