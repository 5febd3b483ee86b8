// SPDX-License-Identifier: Apache-2.0
#include "analyses/holders_document.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_text.h"
#include "facts/contents_pprof.h"
#include "pprof/text_stacks.h"

namespace oomw {
namespace {

using go::retention::GoroutineCounts, go::retention::GoroutineGroup;
using go::retention::Holder, go::retention::Holders, go::retention::HolderStep;
using Json = nlohmann::ordered_json;

Json json_of(const HolderStep& step) {
  return {{"field", step.field}, {"object", step.object}, {"share", step.share}, {"list", step.is_list}};
}

Json json_of(const Holder& holder) {
  Json steps = Json::array(), branches = Json::array();
  for (const HolderStep& step : holder.steps) steps.push_back(json_of(step));
  for (const HolderStep& step : holder.branches) branches.push_back(json_of(step));
  Json json = {{"root", holder.root},
               {"share", holder.share},
               {"bytes", static_cast<std::uint64_t>(holder.bytes)},
               {"samples", holder.samples}};
  if (!holder.component.empty()) json["component"] = holder.component;
  if (holder.queue) {
    json["queue"] = {{"kind", holder.queue->is_channel ? "channel" : "list"},
                     {"item", holder.queue->item},
                     {"length", holder.queue->length}};
  }
  json["steps"] = std::move(steps);
  json["branches"] = std::move(branches);
  return json;
}

Json json_of(const GoroutineCounts& counts) {
  Json groups = Json::array();
  for (const GoroutineGroup& group : counts.groups) {
    groups.push_back({{"count", group.count},
                      {"state", to_string(group.state)},
                      {"blocked_in", group.blocked_in},
                      {"function", group.function},
                      {"outermost", group.outermost},
                      {"created_by", group.created_by},
                      {"stack_bytes", group.stack_bytes}});
  }
  return {{"total", counts.total},
          {"not_read", counts.not_read},
          {"stack_bytes", counts.stack_bytes},
          {"groups", std::move(groups)}};
}

Json json_of(const Holders& found) {
  Json holders = Json::array();
  for (const Holder& holder : found.holders) holders.push_back(json_of(holder));
  return {{"named", found.is_named},
          {"why_not_named", found.why_not_named},
          {"holders", std::move(holders)},
          {"rooted_share", found.rooted_share},
          {"samples", found.samples},
          {"samples_from_profile", found.is_from_profile},
          {"heap_bytes", found.heap_bytes},
          {"goroutine_count", found.goroutines},
          {"layout", found.layout},
          {"passes", found.passes},
          {"objects", found.objects},
          {"references", found.references},
          {"references_gone", found.references_gone},
          {"bytes_read", found.bytes_read},
          {"swapped_pages", found.swapped_pages}};
}

std::string text_of(const Json& json) { return to_json_utf8(json, 2) + "\n"; }

std::string frame_of(const HolderStep& step) { return step.field + " -> " + step.object; }

}  // namespace

std::string holders_document(const Holders& found, const GoroutineCounts* goroutines) {
  Json document = json_of(found);
  document["goroutines"] = goroutines != nullptr ? json_of(*goroutines) : Json();
  return text_of(document);
}

pprof::Profile holders_profile(const Holders& found) {
  pprof::Profile profile;
  profile.sample_types = {{kHeldType, "bytes"}};
  profile.period_type = {"space", "bytes"};
  pprof::TextStacks stacks(profile);
  const auto add = [&](const std::vector<std::string>& stack, double bytes) {
    if (bytes >= 1) stacks.add(stack, {static_cast<std::int64_t>(bytes)});
  };
  for (const Holder& holder : found.holders) {
    std::vector<std::string> chain = {holder.root};
    for (const HolderStep& step : holder.steps) chain.push_back(frame_of(step));
    double rest = holder.bytes;
    for (const HolderStep& branch : holder.branches) {
      std::vector<std::string> stack = chain;
      stack.push_back(frame_of(branch));
      const double bytes = holder.share > 0 ? holder.bytes * branch.share / holder.share : 0;
      add(stack, bytes);
      rest -= bytes;
    }
    add(chain, rest);
  }
  profile.comments = {
      "oomwitness: who keeps the heap: the outermost frame of a stack is the root, the innermost what "
      "it keeps"};
  return profile;
}

}  // namespace oomw
