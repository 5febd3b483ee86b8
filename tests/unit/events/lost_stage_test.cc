// SPDX-License-Identifier: Apache-2.0
#include "events/lost_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

using testing::IsEmpty;

constexpr std::size_t kMaxFileBytes = 1u << 20;

bool is_stage(std::string_view name) {
  const auto& names = lost_stage_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Some names are ordinary words ("log", "incidents"): a literal counts where its line speaks of losses.
bool names_a_stage(const std::string& line) {
  static const std::regex literal("\"([a-z_]+)\"");
  if (line.find("lost[\"") != std::string::npos) return true;
  if (line.find("lost") == std::string::npos && line.find("stage") == std::string::npos) return false;
  for (std::sregex_iterator it(line.begin(), line.end(), literal), end; it != end; ++it) {
    if (is_stage((*it)[1].str())) return true;
  }
  return false;
}

std::vector<std::string> lines_that_name_a_stage(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool is_source = entry.path().extension() == ".cc" || entry.path().extension() == ".h";
    if (!is_source || name == "lost_stage.cc") continue;
    const std::string text = read_file(entry.path(), kMaxFileBytes).value();
    for (const std::string_view line : split(text, '\n')) {
      if (names_a_stage(std::string(line))) found.push_back(name + ": " + std::string(line));
    }
  }
  return found;
}

TEST(LostStage, names_are_distinct_and_fit_a_label) {
  const std::regex snake_case("[a-z]+(_[a-z]+)*");
  std::set<std::string> seen;
  for (const std::string_view name : lost_stage_names()) {
    EXPECT_TRUE(std::regex_match(std::string(name), snake_case)) << name;
    EXPECT_TRUE(seen.insert(std::string(name)).second) << name << " is there twice";
  }
}

TEST(LostStage, the_last_stage_has_the_last_name) {
  EXPECT_EQ(to_string(LostStage::kRingbufKill), "ringbuf_kill");
  EXPECT_EQ(to_string(LostStage::kRecording), "recording");
}

TEST(LostStage, no_stage_is_named_outside_the_registry) {
  EXPECT_THAT(lines_that_name_a_stage(test::source_tree() + "/userspace"), IsEmpty());
}

TEST(LostStage, the_search_finds_a_stage_and_leaves_ordinary_words_alone) {
  EXPECT_TRUE(names_a_stage("  lost[\"a_new_one\"] = 1;"));
  EXPECT_TRUE(names_a_stage("constexpr const char* kStages[] = {\"crossings\"};  // stage"));
  EXPECT_FALSE(names_a_stage("  TableReader spool = table.table(\"spool\");"));
}

TEST(LostStage, alerts_name_stages_that_exist) {
  const std::string rules =
      read_file(test::source_tree() + "/deploy/prometheus/oomwitness.rules.yml", kMaxFileBytes).value();
  const std::regex matcher("stage!?=\"([^\"]*)\"");
  int found = 0;
  for (std::sregex_iterator it(rules.begin(), rules.end(), matcher), end; it != end; ++it, ++found) {
    EXPECT_TRUE(is_stage((*it)[1].str())) << it->str();
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace oomw
