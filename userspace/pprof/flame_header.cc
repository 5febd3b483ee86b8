// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_header.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "pprof/diff.h"
#include "pprof/estimate.h"
#include "pprof/growth_text.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

// "pid" of "oomwitness: method=live pid=17 comm=\"a b\"" is "17"; "" if it is not there. A quoted
// value comes without its quotes.
std::string value_of(std::string_view comment, std::string_view key) {
  const std::string wanted = fmt::format(" {}=", key);
  const std::size_t found = comment.find(wanted);
  if (found == std::string_view::npos) return "";
  std::string_view rest = comment.substr(found + wanted.size());
  if (!rest.starts_with('"')) return std::string(rest.substr(0, rest.find(' ')));
  std::string value;
  for (std::size_t i = 1; i < rest.size() && rest[i] != '"'; ++i) {
    if (rest[i] == '\\' && i + 1 < rest.size() && rest[i + 1] == '"') ++i;
    value += rest[i];
  }
  return value;
}

std::string_view provenance_of(const Profile& profile) {
  for (const std::string& comment : profile.comments) {
    if (comment.starts_with("oomwitness: method=")) return comment;
  }
  return {};
}

// "cart (pid 17): "; "" if the profile does not name its program.
std::string program_of(const Profile& profile) {
  const std::string_view provenance = provenance_of(profile);
  const std::string comm = value_of(provenance, "comm");
  const std::string pid = value_of(provenance, "pid");
  if (!comm.empty() && !pid.empty()) return fmt::format("{} (pid {}): ", comm, pid);
  if (profile.mappings.empty() || profile.mappings.front().filename.empty()) return "";
  const std::string& path = profile.mappings.front().filename;
  return std::string(base_name(path)) + ": ";
}

std::string words_of(const std::string& type) {
  if (type == "inuse_space") return "bytes in use";
  if (type == "inuse_objects") return "objects in use";
  if (type == "alloc_space") return "bytes allocated so far";
  if (type == "alloc_objects") return "objects allocated so far";
  if (type == "contents") return "bytes by type";
  if (type == "held") return "bytes by holder";
  if (type == "growth") return "bytes by who touched them first";
  return type;
}

std::string time_of(const Profile& profile) {
  if (profile.time_nanos <= 0) return "time unknown";
  std::string time = to_rfc3339({profile.time_nanos}).substr(0, 19);
  std::replace(time.begin(), time.end(), 'T', ' ');
  return time + " UTC";
}

struct Ends {
  std::int64_t before = 0, after = 0;
};

Ends ends_of(const Profile& profile, int type_index) {
  Ends ends;
  const auto column = static_cast<std::size_t>(type_index);
  for (const auto& sample : profile.samples) {
    if (column >= sample.values.size()) continue;
    const std::int64_t value = sample.values[column];
    if (is_base_sample(sample)) {
      ends.before = saturating_add(ends.before, negated(value));
    } else {
      ends.after = saturating_add(ends.after, value);
    }
  }
  return ends;
}

std::string total_of(const Profile& profile, int type_index) {
  const ValueType& type = profile.sample_types[static_cast<std::size_t>(type_index)];
  const Ends ends = ends_of(profile, type_index);
  if (!is_diff(profile, type_index)) return amount(ends.after, type.unit);
  return fmt::format("{} ({} -> {})", signed_amount(saturating_add(ends.after, negated(ends.before)), type.unit),
                     amount(ends.before, type.unit), amount(ends.after, type.unit));
}

std::string origin_line(const Profile& profile, const FlameOptions& options) {
  std::string line = time_of(profile);
  const std::string method = value_of(provenance_of(profile), "method");
  if (!method.empty()) {
    line += fmt::format(" | {} capture, {}", method, value_of(provenance_of(profile), "trigger"));
  }
  if (!options.source.empty()) line += " | " + options.source;
  if (!options.base_source.empty()) line += " | since " + options.base_source;
  return line;
}

}  // namespace

bool is_diff(const Profile& profile, int type_index) {
  const auto column = static_cast<std::size_t>(type_index);
  return std::any_of(profile.samples.begin(), profile.samples.end(), [column](const Sample& sample) {
    return is_base_sample(sample) || (column < sample.values.size() && sample.values[column] < 0);
  });
}

FlameHeader flame_header(const Profile& profile, int type_index, const FlameTree& tree, const FlameOptions& options) {
  const ValueType& type = profile.sample_types[static_cast<std::size_t>(type_index)];
  const bool compares = is_diff(profile, type_index) || !options.base_source.empty();
  FlameHeader header;
  header.title = fmt::format("{}{}{}, {}", program_of(profile), words_of(type.type),
                             is_estimate(profile) ? ", estimated by a sample" : "", total_of(profile, type_index));
  if (!options.subject.empty()) {
    header.lines.push_back(std::move(header.title));
    header.title = options.subject;
  }
  header.lines.push_back(origin_line(profile, options));
  header.lines.push_back(compares ? "width: growth plus shrinkage of the stacks through a frame; + grew, - shrank; "
                                    "unchanged stacks are not there"
                                  : fmt::format("width: {} of the stacks through a frame; colour: package, vivid: "
                                                "Collector component; shaded: its own",
                                                words_of(type.type)));
  if (tree.cut_stacks() > 0) {
    header.lines.push_back(fmt::format("{} stacks are cut short: too many different ones", tree.cut_stacks()));
  }
  return header;
}

}  // namespace oomw::pprof
