// SPDX-License-Identifier: Apache-2.0
#include "web/site/flame_job.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"
#include "facts/component_group.h"
#include "facts/operation_profile.h"
#include "pprof/codec.h"
#include "pprof/diff.h"
#include "pprof/flame_header.h"
#include "pprof/flame_tree.h"
#include "pprof/frame_names.h"
#include "pprof/group.h"
#include "pprof/regroup.h"
#include "reader/wire.h"

namespace oomw {
namespace {

constexpr auto kBy = std::to_array<std::string_view>({"function", "package", "component", "operation"});
constexpr auto kModes = std::to_array<std::string_view>({"held", "growth", "diff"});
constexpr std::size_t kMaxName = 512;
constexpr pprof::FlameLimits kLimits = {0.0002, 256, 20'000, 500'000};

std::string package_group(const std::string& function) {
  const std::string_view package = pprof::package_of(function);
  return package.empty() ? function : std::string(package);
}

pprof::Profile arranged(pprof::Profile profile, const FlameQuestion& question) {
  const std::string& by = question.by;
  if (by == "package") return pprof::regrouped(profile, package_group, "(no package)");
  if (by == "component") {
    const auto name = [](const std::string& function) { return component_group_of(function).name; };
    return pprof::regrouped(profile, name, "(no component)");
  }
  return by == "operation" ? rooted_by_operation(std::move(profile), question.patterns) : std::move(profile);
}

// Stacks that grew, without those that shrank.
void keep_growth(pprof::Profile& change, int column) {
  pprof::FrameNames names;
  const auto locations = names.add(change);
  std::unordered_map<std::string, std::int64_t> sums;
  const auto at = static_cast<std::size_t>(column);
  const auto key_of = [&](const pprof::Sample& sample) {
    const auto stack = pprof::FrameNames::stack_of(sample, locations);
    return std::string(reinterpret_cast<const char*>(stack.data()), stack.size() * sizeof(stack[0]));
  };
  for (const pprof::Sample& sample : change.samples) sums[key_of(sample)] += sample.values[at] / 2;  // no overflow
  std::erase_if(change.samples, [&](const pprof::Sample& sample) { return sums[key_of(sample)] <= 0; });
}

std::string module_of(const std::string& function) {
  const std::string component = component_group_of(function).name;
  return component.empty() ? std::string(pprof::package_of(function)) : component;
}

std::string json_string(std::string_view text) { return to_json_utf8(nlohmann::json(printable(text, kMaxName))); }

std::string types_of(const pprof::Profile& profile) {
  std::string out;
  constexpr std::size_t kMaxTypes = 16;
  for (std::size_t i = 0; i < std::min(kMaxTypes, profile.sample_types.size()); ++i) {
    out += (i == 0 ? "" : ",") + json_string(profile.sample_types[i].type);
  }
  return out;
}

int number_of(const pprof::FlameFrame& frame, std::unordered_map<std::uint32_t, int>& numbers) {
  switch (frame.kind) {
    case pprof::FlameFrame::Kind::kRoot:
      return -1;
    case pprof::FlameFrame::Kind::kMore:
      return -2;
    case pprof::FlameFrame::Kind::kDeeper:
      return -3;
    case pprof::FlameFrame::Kind::kFunction:
      break;
  }
  return numbers.try_emplace(frame.name, static_cast<int>(numbers.size())).first->second;
}

std::string tree_json(const pprof::FlameTree& tree) {
  std::unordered_map<std::uint32_t, int> numbers;
  std::string frames, names;
  for (const pprof::FlameFrame& frame : tree.frames()) {
    const std::size_t known = numbers.size();
    const int number = number_of(frame, numbers);
    if (numbers.size() != known) {
      const std::string& name = tree.name(frame);
      names += fmt::format("{}[{},{}]", known == 0 ? "" : ",", json_string(name), json_string(module_of(name)));
    }
    frames += fmt::format("{}[{},{},{},{},{},{}]", frames.empty() ? "" : ",", frame.depth, number, frame.start,
                          frame.size, frame.net, frame.folded);
  }
  return fmt::format("\"names\":[{}],\"frames\":[{}]", names, frames);
}

}  // namespace

Result<> check(const FlameQuestion& question) {
  if (std::ranges::find(kBy, question.by) == kBy.end()) {
    return fail(ErrorCode::kInvalid, "by is one of function, package, component, operation");
  }
  if (std::ranges::find(kModes, question.mode) == kModes.end()) {
    return fail(ErrorCode::kInvalid, "mode is one of held, growth, diff");
  }
  return {};
}

std::string encode(const FlameQuestion& question) {
  return reader::WireWriter()
      .text(question.by)
      .text(question.mode)
      .text(question.type)
      .text(question.patterns.text())
      .take();
}

Result<std::string> flame_json(const FlameQuestion& question, pprof::Profile after, const pprof::Profile* before) {
  RETURN_IF_ERROR(check(question));
  pprof::Profile shown = arranged(std::move(after), question);
  if (before != nullptr) {
    ASSIGN_OR_RETURN(shown, pprof::diff(arranged(*before, question), shown));
  }
  const int column = pprof::chosen_type(shown, question.type);
  if (column < 0) return fail(ErrorCode::kInvalid, "no such sample type");
  const std::int64_t reference = pprof::reference_total(shown, column);
  if (before != nullptr && question.mode == "growth") keep_growth(shown, column);
  const pprof::FlameTree tree(shown, column, kLimits);
  const pprof::FlameHeader header = pprof::flame_header(shown, column, tree, {});
  const pprof::ValueType& type = shown.sample_types[static_cast<std::size_t>(column)];
  return fmt::format(
      "{{\"by\":{},\"mode\":{},\"type\":{},\"unit\":{},\"types\":[{}],\"title\":{},\"total\":{},\"reference\":{},"
      "\"cut_stacks\":{},{}}}",
      json_string(question.by), json_string(question.mode), json_string(type.type), json_string(type.unit),
      types_of(shown), json_string(header.title), shown.total(column), reference, tree.cut_stacks(), tree_json(tree));
}

Result<std::string> flame_job(std::string_view parameters, std::span<const UniqueFd> files) {
  reader::WireReader in(parameters);
  FlameQuestion question;
  question.by = in.text();
  question.mode = in.text();
  question.type = in.text();
  ASSIGN_OR_RETURN(question.patterns, OperationPatterns::of_text(in.text()));
  const std::size_t wanted = question.mode == "held" ? 2 : 3;
  if (!in.is_complete() || files.size() != wanted) return fail(ErrorCode::kInternal, "not what a flame graph needs");
  const auto load = [&](std::size_t i) -> Result<pprof::Profile> {
    ASSIGN_OR_RETURN(const std::string bytes, read_open_file(files[i].get(), "the profile", kMaxFlameProfile));
    return pprof::read(bytes);
  };
  ASSIGN_OR_RETURN(pprof::Profile after, load(1));
  std::optional<pprof::Profile> before;
  if (wanted == 3) {
    ASSIGN_OR_RETURN(before, load(2));
  }
  ASSIGN_OR_RETURN(const std::string json, flame_json(question, std::move(after), before ? &*before : nullptr));
  if (json.size() > kMaxFlameAnswer) return fail(ErrorCode::kLimit, "too large a picture");
  RETURN_IF_ERROR(write_all(files[0].get(), json));
  return reader::WireWriter().number(json.size()).take();
}

}  // namespace oomw
