// SPDX-License-Identifier: Apache-2.0
#include "pprof/growth_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "pprof/estimate.h"
#include "pprof/saturating.h"
#include "pprof/stages_text.h"

namespace oomw::pprof {
namespace {

constexpr std::size_t kMaxCallers = 12;  // shown per stack: the leaf is what grew

std::string sign_of(std::int64_t value) { return value > 0 ? "+" : value < 0 ? "-" : ""; }

std::string signed_percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  const double ratio = 100 * static_cast<double>(magnitude(part)) / std::abs(static_cast<double>(whole));
  return fmt::format("{}{:.{}f} %", sign_of(part), ratio, ratio < 999.95 ? 1 : 0);
}

std::string or_none(const std::string& name) { return name.empty() ? "(none)" : printable(name); }

std::string callers_of(const GroupRow& row, std::size_t indent) {
  std::string out;
  const std::size_t shown = std::min(row.stack.size(), kMaxCallers);
  for (std::size_t i = 1; i < shown; ++i) out += fmt::format("{:{}}{}\n", "", indent, printable(row.stack[i]));
  if (row.stack.size() > shown) out += fmt::format("{:{}}({} more)\n", "", indent, row.stack.size() - shown);
  return out;
}

std::string row_text(const GroupRow& row, const Growth& growth, const GrowthView& view) {
  const std::string& unit = growth.type.unit;
  std::string line =
      fmt::format("{:>12} {:>10} {:>11} {:>11}", signed_amount(row.growth(), unit),
                  signed_percent(row.growth(), growth.reference), amount(row.before, unit), amount(row.after, unit));
  if (view.has_cum) line += fmt::format(" {:>12}", signed_amount(row.cum_growth(), unit));
  line += "  ";
  const std::size_t indent = line.size() + 2;
  return line + or_none(row.name) + "\n" + callers_of(row, indent);
}

std::string time_text(const Profile& profile) {
  if (profile.time_nanos <= 0) return "at an unknown time";
  return to_rfc3339({profile.time_nanos}).substr(0, 19) + "Z";
}

std::string distance_text(const Profile& before, const Profile& after) {
  if (before.time_nanos <= 0 || after.time_nanos <= 0) return "";
  const std::int64_t distance_ns = saturating_add(after.time_nanos, negated(before.time_nanos));
  return fmt::format(", {:.1f} s {}", static_cast<double>(magnitude(distance_ns)) / 1e9,
                     distance_ns < 0 ? "EARLIER than the first" : "later");
}

using GrowthOf = Result<Growth> (*)(const Profile&, const Profile&, const std::string&);

Result<std::string> section(const std::string& title, const Result<Growth>& growth, const GrowthView& view) {
  if (!growth) return tl::make_unexpected(growth.error());
  return "\n" + title + "\n" + to_text(*growth, view);
}

std::string over_time(const NamedProfile& before, const std::vector<NamedProfile>& between, const NamedProfile& after,
                      const std::string& type) {
  std::vector<NamedProfile> stages{before};
  for (const NamedProfile& stage : between) stages.push_back(stage);
  stages.push_back(after);
  return stages_text(stages, type, 8);
}

bool has_names(const Growth& growth) {
  return std::any_of(growth.rows.begin(), growth.rows.end(), [](const GroupRow& row) { return !row.name.empty(); });
}

}  // namespace

std::string amount(std::int64_t value, const std::string& unit) {
  const std::string sign = value < 0 ? "-" : "";
  if (unit == "bytes") return sign + human_bytes(static_cast<std::uint64_t>(magnitude(value)));
  return std::to_string(value);
}

std::string signed_amount(std::int64_t value, const std::string& unit) {
  return (value > 0 ? "+" : "") + amount(value, unit);
}

std::string summary_line(const Growth& growth) {
  const std::int64_t difference = saturating_add(growth.after, negated(growth.before));
  const std::string& unit = growth.type.unit;
  return fmt::format("{}: {} -> {} ({}, {})\n", printable(growth.type.type, 64), amount(growth.before, unit),
                     amount(growth.after, unit), signed_amount(difference, unit),
                     signed_percent(difference, growth.before));
}

std::string to_text(const Growth& growth, const GrowthView& view) {
  if (growth.rows.empty()) return fmt::format("no {} grew or shrank\n", view.noun);
  std::string out = fmt::format("{:>12} {:>10} {:>11} {:>11}", "growth", growth.before == 0 ? "of all" : "of before",
                                "before", "after");
  if (view.has_cum) out += fmt::format(" {:>12}", "cum growth");
  out += fmt::format("  {}\n", view.noun);
  const std::size_t count = std::min(view.rows, growth.rows.size());
  for (std::size_t i = 0; i < count; ++i) out += row_text(growth.rows[i], growth, view);
  if (growth.groups > count) out += fmt::format("({} more)\n", growth.groups - count);
  return out;
}

std::string heading_text(const NamedProfile& before, const NamedProfile& after) {
  const auto estimate_text = [](const Profile& one) { return is_estimate(one) ? ", estimated by a sample" : ""; };
  const bool has_estimate = is_estimate(before.profile) || is_estimate(after.profile);
  return fmt::format(
      "from {}, {}{}\n  to {}, {}{}{}\n{}", printable(before.name), time_text(before.profile),
      estimate_text(before.profile), printable(after.name), time_text(after.profile),
      distance_text(before.profile, after.profile), estimate_text(after.profile),
      has_estimate ? "A difference may be the error of an estimate, or what a sample leaves out.\n" : "");
}

Result<std::string> growth_text(const NamedProfile& before, const NamedProfile& after, const std::string& type,
                                const Classifier& components, const std::vector<NamedProfile>& between) {
  const auto of = [&](GrowthOf growth) { return growth(before.profile, after.profile, type); };
  ASSIGN_OR_RETURN(const Growth by_function, of(growth_by_function));
  ASSIGN_OR_RETURN(const Growth by_component, growth_by(before.profile, after.profile, type, components));
  std::string out = heading_text(before, after) + summary_line(by_function);
  const std::string stages = over_time(before, between, after, type);
  if (!stages.empty()) out += "\nOver time, held by function\n" + stages;
  out += "\nBy function\n" + to_text(by_function, {"function", 20, true});
  ASSIGN_OR_RETURN(const std::string packages, section("By package", of(growth_by_package), {"package", 8, true}));
  ASSIGN_OR_RETURN(const std::string stacks,
                   section("By stack, leaf first", of(growth_by_stack), {"stack", 10, false}));
  if (has_names(by_component)) out += "\nBy Collector component\n" + to_text(by_component, {"component", 12, false});
  return out + packages + stacks;
}

}  // namespace oomw::pprof
