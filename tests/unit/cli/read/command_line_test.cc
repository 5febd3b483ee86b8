// SPDX-License-Identifier: Apache-2.0
#include "cli/read/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "support/source_tree.h"

namespace oomw::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Parsed {
  std::variant<CommandLine, int> result;
  std::string error;  // what was printed
};

Parsed parse(std::vector<std::string> words) {
  words.insert(words.begin(), "oomwitness");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStderr();
  auto result = parse_command_line(static_cast<int>(argv.size()), argv.data());
  return {std::move(result), ::testing::internal::GetCapturedStderr()};
}

std::string usage_error(const std::vector<std::string>& words) {
  const Parsed parsed = parse(words);
  EXPECT_TRUE(std::holds_alternative<int>(parsed.result) && std::get<int>(parsed.result) == kUsage);
  return parsed.error;
}

TEST(CommandLine, an_unknown_command_names_the_nearest_and_all) {
  const std::string error = usage_error({"incident"});
  EXPECT_THAT(error, HasSubstr("no command 'incident' (did you mean 'incidents'?)"));
  EXPECT_THAT(error, HasSubstr(" doctor"));
  EXPECT_THAT(usage_error({"witness"}), Not(HasSubstr("did you mean")));
}

TEST(CommandLine, without_a_command_all_are_named) {
  EXPECT_THAT(usage_error({}), ::testing::AllOf(HasSubstr("incidents"), HasSubstr("doctor"), HasSubstr("--data-dir")));
}

TEST(CommandLine, an_unknown_option_names_the_nearest_of_its_command) {
  EXPECT_THAT(usage_error({"run", "--jsn"}), HasSubstr("oomwitness run: unexpected '--jsn' (did you mean '--json'?)"));
  EXPECT_THAT(usage_error({"run", "--recrod=x"}), HasSubstr("(did you mean '--record'?)"));
  EXPECT_THAT(usage_error({"run", "--no-such-flag"}), Not(HasSubstr("did you mean")));
}

TEST(CommandLine, a_pid_that_is_none_is_one_short_line) {
  for (const std::string pid : {"abc", "0", "-3", "1.5", "99999999999999999999"}) {
    const std::string error = usage_error({"capture", "--pid", pid});
    EXPECT_LT(error.size(), 200u) << error;
    EXPECT_THAT(error, HasSubstr(pid));
  }
}

TEST(CommandLine, an_interval_is_a_decimal_number) {
  EXPECT_THAT(usage_error({"trend", "--pid", "1", "--interval", "nan"}), HasSubstr("nan is no decimal number"));
}

TEST(CommandLine, a_pid_is_taken) {
  const Parsed parsed = parse({"capture", "--pid", "4194304"});
  ASSERT_TRUE(std::holds_alternative<CommandLine>(parsed.result)) << parsed.error;
  EXPECT_EQ(std::get<CommandLine>(parsed.result).pid, 4'194'304);
}

CommandLine parsed(const std::vector<std::string>& words) {
  const Parsed result = parse(words);
  EXPECT_TRUE(std::holds_alternative<CommandLine>(result.result)) << result.error;
  return std::holds_alternative<CommandLine>(result.result) ? std::get<CommandLine>(result.result) : CommandLine{};
}

TEST(CommandLine, the_data_dir_stands_before_or_after_the_command) {
  EXPECT_EQ(parsed({"--data-dir", "/d", "incidents"}).data_dir, "/d");
  EXPECT_EQ(parsed({"incidents", "--data-dir", "/d"}).data_dir, "/d");
  EXPECT_EQ(parsed({"--data-dir=/d", "show", "latest"}).incident_id, "latest");
  EXPECT_THAT(usage_error({"--data-dir", "/d", "shwo"}), HasSubstr("(did you mean 'show'?)"));
}

TEST(CommandLine, the_newest_incident_is_meant_where_none_is_named_and_one_form_of_it) {
  EXPECT_EQ(parsed({"show"}).incident_id, "latest");
  for (const char* command : {"top", "diff", "render"}) EXPECT_EQ(parsed({command}).input_path, "latest") << command;
  EXPECT_EQ(parsed({"fetch"}).incident_id, "") << "lists them all";
  EXPECT_TRUE(parsed({"show", "--markdown"}).markdown);
  EXPECT_THAT(usage_error({"show", "--markdown", "--full"}), HasSubstr("--full"));
  EXPECT_THAT(usage_error({"show", "--json", "--markdown"}), HasSubstr("--markdown"));
}

TEST(CommandLine, incidents_takes_filters_and_one_of_three_forms) {
  const CommandLine line = parsed({"incidents", "-n", "shop", "--cause", "leak", "--since", "2h", "-o", "wide"});
  EXPECT_EQ(line.pod_namespace, "shop");
  EXPECT_EQ(line.cause, "leak");
  EXPECT_EQ(line.since, "2h");
  EXPECT_EQ(line.output_format, "wide");
  EXPECT_THAT(usage_error({"incidents", "-o", "yaml"}), HasSubstr("yaml"));
  EXPECT_THAT(usage_error({"incidents", "--limit", "0"}), HasSubstr("--limit"));
}

std::string help_of(std::vector<std::string> words) {
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(std::holds_alternative<int>(parse(std::move(words)).result));
  return ::testing::internal::GetCapturedStdout();
}

TEST(CommandLine, help_names_every_command_or_explains_one) {
  EXPECT_THAT(help_of({"help"}), HasSubstr("doctor"));
  EXPECT_THAT(help_of({"help"}), HasSubstr("incidents"));
  EXPECT_THAT(help_of({"help", "show"}), HasSubstr("--full"));
  EXPECT_THAT(usage_error({"help", "shwo"}), HasSubstr("(did you mean 'show'?)"));
}

TEST(Completion, begins_with_commands_and_goes_on_with_options_of_the_command) {
  using ::testing::Contains;
  EXPECT_EQ(completions_of({"sh"}), std::vector<std::string>{"show"});
  EXPECT_THAT(completions_of({""}), Contains("incidents"));
  EXPECT_THAT(completions_of({}), Contains("incidents"));
  EXPECT_EQ(completions_of({"show", "--fu"}), std::vector<std::string>{"--full"});
  EXPECT_EQ(completions_of({"--data-dir", "/d", "incidents", "--names"}), std::vector<std::string>{"--namespace"});
  EXPECT_EQ(completions_of({"help", "sho"}), std::vector<std::string>{"show"});
  EXPECT_EQ(completions_of({"show", ""}), std::vector<std::string>{}) << "the ids of incidents stand there";
}

// A change of a command or option needs `oomwitness man > deploy/man/oomwitness.1`.
TEST(ManPage, is_installed_as_the_program_writes_it) {
  const std::string page = man_page();
  for (const std::string& command : completions_of({""})) EXPECT_THAT(page, HasSubstr("\n.SS " + command + "\n"));
  EXPECT_THAT(page, HasSubstr("\\-\\-local\\-time"));
  EXPECT_EQ(read_file(test::source_tree() + "/deploy/man/oomwitness.1", 1u << 20).value_or(""), page);
}

}  // namespace
}  // namespace oomw::cli
