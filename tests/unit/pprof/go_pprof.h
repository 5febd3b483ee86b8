// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <utility>

#include "pprof/top.h"

// The output of `go tool pprof` for a profile, to compare with.
namespace oomw::pprof {

// Function -> flat, cum.
using Figures = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

inline Figures figures_of(const Top& top) {
  Figures out;
  for (const auto& row : top.rows) out[row.function] = {row.flat, row.cum};
  return out;
}

struct CommandResult {
  int status = -1;
  std::string output;
};

inline CommandResult run(const std::string& command) {
  CommandResult result;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof(buffer), pipe)) result.output.append(buffer, n);
  result.status = ::pclose(pipe);
  return result;
}

inline bool has_go() { return run("go version 2>/dev/null").status == 0; }

// "41272644B 97.52% 97.52%  41272644B 97.52%  main.leakyCache (inline)"
inline Figures parse_go_top(const std::string& text) {
  static const std::regex kRow(R"(\s*(-?\d+)B?\s+\S+%\s+\S+%\s+(-?\d+)B?\s+\S+%\s+(\S.*?)( \((partial-)?inline\))?)");
  Figures out;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::smatch match;
    const std::string line = text.substr(start, end - start);
    if (std::regex_match(line, match, kRow)) out[match[3]] = {std::stoll(match[1]), std::stoll(match[2])};
    start = end + 1;
  }
  return out;
}

// "Showing nodes accounting for 41945364B, 27.0% of 155257825B total"; -1 if it is absent.
inline std::int64_t parse_go_total(const std::string& text) {
  static const std::regex kTotal(R"(of (\d+)B? total)");
  std::smatch match;
  return std::regex_search(text, match, kTotal) ? std::stoll(match[1]) : -1;
}

// Every function, in bytes or objects.
inline CommandResult go_top(const std::string& type, const std::string& arguments) {
  return run("go tool pprof -top -unit=B -symbolize=none -nodecount=100000 -nodefraction=0 -sample_index=" + type +
             " " + arguments + " 2>/dev/null");
}

}  // namespace oomw::pprof
