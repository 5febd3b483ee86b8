// SPDX-License-Identifier: Apache-2.0
// Each recording of a real run (recordings/X.jsonl) must give exactly the incidents golden/X-0, X-1, ...: a folder
// each, with every form of it that anybody reads. After a wanted change: OOMW_UPDATE_GOLDEN=1 and read the diff.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "daemon/replay.h"
#include "support/incident_outputs.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;  // by "X-0/report.md"

const std::string kRoot = test::source_tree() + "/tests/pipeline";

std::vector<std::string> recordings() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kRoot + "/recordings")) {
    if (entry.path().extension() == ".jsonl") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Incident> replayed(const std::string& name) {
  Result<std::vector<Incident>> incidents = replay(kRoot + "/recordings/" + name + ".jsonl", {}, {});
  EXPECT_TRUE(incidents.has_value()) << incidents.error().message;
  return incidents.has_value() ? std::move(*incidents) : std::vector<Incident>{};
}

Texts made_of(const std::string& name) {
  const std::string scratch = fs::temp_directory_path() / ("oomw-golden-" + std::to_string(::getpid()));
  Texts texts;
  std::size_t number = 0;
  for (const Incident& incident : replayed(name)) {
    const std::string folder = name + "-" + std::to_string(number++) + "/";
    const auto directory = test::store_without_evidence(incident, scratch);
    EXPECT_TRUE(directory.has_value()) << directory.error().message;
    for (auto& [file, text] : test::outputs_of(incident, directory.value_or("")))
      texts[folder + file] = std::move(text);
    fs::remove_all(scratch);
  }
  return texts;
}

// The folders that are of this recording and of no other with a longer name.
Texts known_of(const std::string& name) {
  Texts texts;
  for (const auto& folder : fs::directory_iterator(kRoot + "/golden")) {
    const std::string its = folder.path().filename();
    if (its.substr(0, its.rfind('-')) != name) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      std::stringstream text;
      text << std::ifstream(file.path()).rdbuf();
      texts[its + "/" + file.path().filename().string()] = text.str();
    }
  }
  return texts;
}

void write_golden(const std::string& name, const Texts& texts) {
  for (const auto& [file, text] : known_of(name)) fs::remove(kRoot + "/golden/" + file);
  for (const auto& [file, text] : texts) {
    const fs::path path = kRoot + "/golden/" + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, recording_gives_the_known_incidents) {
  const Texts made = made_of(GetParam());
  if (std::getenv("OOMW_UPDATE_GOLDEN") != nullptr) write_golden(GetParam(), made);
  const Texts known = known_of(GetParam());
  for (const auto& [file, text] : made) {
    const auto its = known.find(file);
    ASSERT_NE(its, known.end()) << file << " is not in golden/";
    EXPECT_EQ(text, its->second) << file;
  }
  EXPECT_EQ(made.size(), known.size()) << "golden/ has files of it that are not made any more";
  EXPECT_FALSE(made.empty());
}

TEST_P(GoldenTest, replay_twice_is_the_same) { EXPECT_EQ(made_of(GetParam()), made_of(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Recordings, GoldenTest, testing::ValuesIn(recordings()),
                         [](const auto& recording) { return recording.param; });

TEST(GoldenSetTest, there_are_recordings) { EXPECT_GE(recordings().size(), 10u); }

}  // namespace
}  // namespace oomw
