// SPDX-License-Identifier: Apache-2.0
#include "pprof/stages_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "pprof/top.h"

namespace oomw::pprof {
namespace {

constexpr std::size_t kColumn = 11;
constexpr std::size_t kMaxTitle = 20;

using FlatByFunction = std::map<std::string, std::int64_t>;

FlatByFunction flat_of(const Profile& profile, const std::string& type) {
  FlatByFunction flat;
  for (TopRow& row : top(profile, type).rows) flat.emplace(std::move(row.function), row.flat);
  return flat;
}

std::int64_t held(const FlatByFunction& stage, const std::string& function) {
  const auto found = stage.find(function);
  return found == stage.end() ? 0 : found->second;
}

// "capture-03-at_kill.pb.gz" is too wide for a column: "at_kill" is enough; for a trend, its number.
std::string title_of(const NamedProfile& stage) {
  std::string name = stage.name.substr(0, stage.name.find('.'));
  if (name.starts_with("capture-")) name.erase(0, name.find('-', 8) + 1);
  return printable(name, kMaxTitle);
}

}  // namespace

std::string stages_text(const std::vector<NamedProfile>& stages, const std::string& type, std::size_t rows) {
  if (stages.size() < 3) return "";
  const auto growth = growth_by_function(stages.front().profile, stages.back().profile, type);
  if (!growth || growth->rows.empty()) return "";
  std::vector<FlatByFunction> flats;
  std::string out;
  for (const NamedProfile& stage : stages) {
    flats.push_back(flat_of(stage.profile, type));
    out += fmt::format("{:>{}} ", title_of(stage), kColumn);
  }
  out += fmt::format("{:>{}}  function\n", "growth", kColumn + 1);
  for (std::size_t i = 0; i < std::min(rows, growth->rows.size()); ++i) {
    const GroupRow& row = growth->rows[i];
    if (row.growth() == 0) break;
    for (const FlatByFunction& flat : flats) {
      out += fmt::format("{:>{}} ", amount(held(flat, row.name), growth->type.unit), kColumn);
    }
    out +=
        fmt::format("{:>{}}  {}\n", signed_amount(row.growth(), growth->type.unit), kColumn + 1, printable(row.name));
  }
  return out;
}

}  // namespace oomw::pprof
