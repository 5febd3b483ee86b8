// SPDX-License-Identifier: Apache-2.0
// Each recording of a real run (recordings/X.jsonl) must give exactly golden/X.json. After a wanted
// change: OOMW_UPDATE_GOLDEN=1 and read the diff.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/replay.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

const std::string kRoot = test::source_tree() + "/tests/pipeline";

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/recordings")) {
    if (entry.path().extension() == ".jsonl") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string replayed(const std::string& name) {
  const Result<std::vector<Incident>> incidents = replay(kRoot + "/recordings/" + name + ".jsonl", {}, {});
  if (!incidents.has_value()) return "error: " + incidents.error().message;
  std::string all;
  for (const Incident& incident : *incidents) all += to_json(incident) + "\n";
  return all;
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, recording_gives_the_known_incidents) {
  const std::string golden = kRoot + "/golden/" + GetParam() + ".json";
  const std::string actual = replayed(GetParam());
  if (std::getenv("OOMW_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden) << actual;
  }
  EXPECT_FALSE(actual.starts_with("error: ")) << actual;
  EXPECT_EQ(actual, text_of(golden));
}

TEST_P(GoldenTest, replay_twice_is_the_same) { EXPECT_EQ(replayed(GetParam()), replayed(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Recordings, GoldenTest, testing::ValuesIn(recordings()),
                         [](const auto& recording) { return recording.param; });

TEST(GoldenSetTest, there_are_recordings) { EXPECT_GE(recordings().size(), 3u); }

}  // namespace
}  // namespace oomw
