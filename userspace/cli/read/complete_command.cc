// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/read/read_commands.h"
#include "store/incident_reader.h"

namespace oomw::cli {
namespace {

constexpr std::size_t kMostIds = 50;

// The data directory among the words, else the default one.
std::string data_dir_of(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--data-dir") return words[i + 1];
    if (words[i].starts_with("--data-dir=")) return words[i].substr(words[i].find('=') + 1);
  }
  return "/var/lib/oomwitness";
}

bool takes_an_incident(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return word == "show" || word == "export" || word == "diff" || word == "render";
  });
}

void print_ids(const std::vector<std::string>& words) {
  const std::string& last = words.back();
  if (std::string_view("latest").starts_with(last)) fmt::print("latest\n");
  const auto newest = IncidentReader(data_dir_of(words)).summaries({.limit = kMostIds});
  if (!newest) return;
  for (const IncidentSummary& summary : *newest) {
    const std::string id = printable(summary.id, 64), end = id.substr(id.size() - std::min<std::size_t>(id.size(), 8));
    if (end.starts_with(last)) fmt::print("{}\n", end);
    if (!last.empty() && id.starts_with(last)) fmt::print("{}\n", id);
  }
}

}  // namespace

int complete_command(const std::vector<std::string>& words) {
  for (const std::string& word : completions_of(words)) fmt::print("{}\n", word);
  if (!words.empty() && !words.back().starts_with('-') && takes_an_incident({words.begin(), words.end() - 1})) {
    print_ids(words);
  }
  return kOk;
}

int man_command() {
  fmt::print("{}", man_page());
  return kOk;
}

}  // namespace oomw::cli
