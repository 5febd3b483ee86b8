// SPDX-License-Identifier: Apache-2.0
// "Following one kill" in userspace/README.md: every step names one function, and all of them are there. The first
// README is short, and what it links to exists.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

std::string section(const std::string& title) {
  const std::string text = read_file(test::source_tree() + "/userspace/README.md", test::kMaxSourceBytes).value_or("");
  const std::size_t begin = text.find("## " + title);
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\nKills while", begin) - begin);
}

// Of "7. `Correlator::take` opens ...": "Correlator::take".
std::vector<std::string> functions_of_steps(const std::string& text) {
  std::vector<std::string> functions;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t begin = line.find(". `");
    if (begin == std::string_view::npos || begin > 2) continue;
    functions.emplace_back(line.substr(begin + 3, line.find('`', begin + 3) - begin - 3));
  }
  return functions;
}

std::string all_sources() {
  std::string text;
  for (const char* folder : {"/userspace", "/bpf"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_tree() + folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".cc" || extension == ".c") text += read_file(entry.path(), test::kMaxSourceBytes).value_or("");
    }
  }
  return text;
}

TEST(ReadmeTest, every_step_of_following_one_kill_names_a_function_that_is_defined) {
  const std::vector<std::string> functions = functions_of_steps(section("Following one kill"));
  ASSERT_GE(functions.size(), 10u);
  const std::string sources = all_sources();
  for (const std::string& function : functions) {
    const bool is_defined = sources.find(" " + function + "(") != std::string::npos ||
                            sources.find("BPF_PROG(" + function + ",") != std::string::npos;
    EXPECT_TRUE(is_defined) << function;
  }
}

// Table rules and other marks are no words.
std::size_t words_of(const std::string& text) {
  std::istringstream stream(text);
  std::size_t words = 0;
  for (std::string word; stream >> word;)
    words += std::ranges::any_of(word, [](unsigned char c) { return std::isalnum(c) != 0; });
  return words;
}

TEST(ReadmeTest, the_first_page_is_read_in_minutes_and_leads_to_files_that_exist) {
  const std::string text = read_file(test::source_tree() + "/README.md", test::kMaxSourceBytes).value_or("");
  EXPECT_LE(words_of(text), 1'050u) << "figures belong into docs/benchmarks.md, internals into the folders' READMEs";
  const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  std::size_t links = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found, ++links) {
    EXPECT_TRUE(std::filesystem::exists(test::source_tree() + "/" + (*found)[1].str())) << (*found)[1];
  }
  EXPECT_GE(links, 10u);
}

}  // namespace
}  // namespace oomw
