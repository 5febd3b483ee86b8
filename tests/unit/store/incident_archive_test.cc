// SPDX-License-Identifier: Apache-2.0
#include "store/incident_archive.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/stored_files.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;

class IncidentArchiveTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0); }

  void put(const std::string& name, const std::string& bytes) { std::ofstream(directory_ + "/" + name) << bytes; }

  Result<> archive() {
    std::ofstream out(root_ / "a.tar", std::ios::binary);
    return write_incident_archive(directory_, "20261121T030405Z-1a2b3c4d", [&](std::string_view bytes) -> Result<> {
      out << bytes;
      return {};
    });
  }

  static int run(const std::string& command) { return ::system(command.c_str()); }

  const test::TemporaryDirectory root_;
  const std::string directory_ = root_ / "incident";
};

TEST_F(IncidentArchiveTest, tar_unpacks_the_same_bytes) {
  put("incident.json", "{}");
  put("report.md", std::string(512, 'r'));
  put("capture-01-http.pb.gz", std::string(200'000, '\xff') + '\0');
  put("empty", "");
  ASSERT_TRUE(archive().has_value());
  ASSERT_EQ(run("tar -C " + root_.path() + " -xf " + root_ / "a.tar"), 0);
  EXPECT_EQ(run("diff -r " + directory_ + " " + root_ / "20261121T030405Z-1a2b3c4d"), 0);
}

TEST_F(IncidentArchiveTest, incident_json_is_last_and_notes_of_this_node_stay_here) {
  put("incident.json", "{}");
  put("report.md", "r");
  put(".delivery-otlp", "{}");
  put("incident.json.tmp-12-1", "{");
  EXPECT_THAT(stored_file_names(directory_).value(), ElementsAre("report.md", "incident.json"));
}

TEST_F(IncidentArchiveTest, a_link_is_not_followed) {
  put("incident.json", "{}");
  ASSERT_EQ(::symlink("/etc/passwd", (directory_ + "/passwd").c_str()), 0);
  EXPECT_FALSE(archive().has_value());
}

TEST_F(IncidentArchiveTest, a_pipe_is_not_waited_for) {
  put("incident.json", "{}");
  ASSERT_EQ(::mkfifo((directory_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(archive().has_value());
}

TEST_F(IncidentArchiveTest, a_sink_that_fails_ends_it) {
  put("incident.json", "{}");
  std::size_t calls = 0;
  const auto written = write_incident_archive(directory_, "i", [&](std::string_view) -> Result<> {
    ++calls;
    return fail(ErrorCode::kNoSpace, "full");
  });
  EXPECT_FALSE(written.has_value());
  EXPECT_EQ(calls, 1u);
}

}  // namespace
}  // namespace oomw
