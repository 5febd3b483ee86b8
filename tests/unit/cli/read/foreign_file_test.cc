// SPDX-License-Identifier: Apache-2.0
#include "cli/read/foreign_file.h"

#include <sys/stat.h>

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/memory_limit.h"
#include "unit/base/temporary_directory.h"

namespace oomw::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ForeignFileTest : public ::testing::Test {
 protected:
  const test::TemporaryDirectory root_;
};

TEST_F(ForeignFileTest, a_plain_file_is_read_within_its_bound) {
  ASSERT_TRUE(write_file_atomic(root_ / "a", "12345"));
  EXPECT_EQ(read_plain_file(root_ / "a", 5).value(), "12345");
  EXPECT_EQ(read_plain_file(root_ / "a", 4).error().code, ErrorCode::kLimit);
  EXPECT_EQ(read_plain_file(root_ / "b", 4).error().code, ErrorCode::kNotFound);
}

TEST_F(ForeignFileTest, links_devices_pipes_and_directories_are_refused) {
  fs::create_symlink("/dev/zero", root_ / "link");
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {root_ / "link", root_ / "pipe", std::string("/dev/zero"), root_.path()}) {
    EXPECT_FALSE(read_plain_file(path, 1 << 20)) << path;
  }
}

TEST(ForAnyTerminal, shows_what_would_steer_a_terminal_also_after_a_zero_byte) {
  const std::string text = std::string("{\n  \"a\": \"\x1b[31m\xc2\x9b") + '\0' + "\x1b]0;title\x07\"\n}\n";
  const std::string shown = for_any_terminal(text);
  for (const char* bad : {"\x1b", "\x07", "\xc2\x9b"}) EXPECT_THAT(shown, Not(HasSubstr(bad)));
  EXPECT_THAT(shown, HasSubstr("title"));
  EXPECT_EQ(for_any_terminal("{\n  \"a\": \"\xc3\xa4\"\n}\n"), "{\n  \"a\": \"\xc3\xa4\"\n}\n");
}

#if !defined(OOMW_SANITIZED)
TEST(MemoryLimitDeathTest, ends_the_program_with_a_reason_and_is_lifted_at_its_end) {
  const auto allocate = [] { return std::make_unique<std::string>(64 << 20, 'x')->size(); };
  EXPECT_EXIT(
      {
        const MemoryLimit limit(32 << 20, "a profile");
        (void)allocate();
      },
      ::testing::ExitedWithCode(1), "a profile: takes more memory than is reasonable");
  { const MemoryLimit limit(32 << 20, "a profile"); }
  EXPECT_EQ(allocate(), 64U << 20);
}
#endif

}  // namespace
}  // namespace oomw::cli
