// SPDX-License-Identifier: Apache-2.0
#include "verdict/culprit.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/call_sites.h"
#include "facts/collector_components.h"
#include "facts/operation.h"
#include "verdict/filler_answer.h"
#include "verdict/growth_answer.h"
#include "verdict/owner_answer.h"
#include "verdict/thresholds.h"
#include "verdict/verdict_evidence.h"

namespace oomw {
namespace {

std::optional<AnswerCulprit> keeper(const Incident& incident) {
  const CollectorExporter* exporter = incident.collector ? keeper_of(*incident.collector) : nullptr;
  if (exporter == nullptr) return std::nullopt;
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kKeeps);
  culprit.code = "exporter " + printable(exporter->id);
  culprit.operation_kind = "component";
  culprit.operation = "exporter/" + printable(exporter->id);
  culprit.evidence = "the Collector's own metrics";
  return culprit;
}

// Where a frame's function ends and its place begins: type arguments hold spaces of their own.
std::size_t gap_of_frame(const std::string& frame) {
  const std::size_t first = frame.find(' '), open = frame.find('[');
  const std::size_t close = open < first ? frame.rfind(']') : std::string::npos;
  return close == std::string::npos ? first : frame.find(' ', close);
}

std::string function_of_frame(const std::string& frame) {
  return without_type_arguments(std::string_view(frame).substr(0, gap_of_frame(frame)));
}

// "main.put /src/main.go:44" -> "main.put (main.go:44)"
std::string code_of_frame(const std::string& frame) {
  const std::size_t gap = gap_of_frame(frame);
  if (gap == std::string::npos) return function_of_frame(frame);
  const std::string place = frame.substr(gap + 1);
  return fmt::format("{} ({})", function_of_frame(frame), base_name(place));
}

bool is_growing(const TrendSite& site, const IncidentTrend& trend) {
  const double whole = live_gain(trend.whole), live = live_gain(site.figures);
  return site.figures.judgement == "leak" || (live > 0 && live >= threshold::kMost * whole);
}

// The call site that leaks, or that made half of the growth. Its frames are those next to the allocation.
const TrendSite* growing_site(const IncidentTrend& trend) {
  const TrendSite* most = nullptr;
  for (const TrendSite& site : trend.sites) {
    if (site.frames.empty() || !is_growing(site, trend)) continue;
    if (most == nullptr || site.figures.last_held_bytes > most->figures.last_held_bytes) most = &site;
  }
  return most;
}

using Frames = std::vector<std::string>::const_iterator;

Frames frame_of(const TrendSite& site, const std::string& function) {
  return std::ranges::find_if(site.frames,
                              [&](const std::string& frame) { return function_of_frame(frame) == function; });
}

// The function that called that of the frame; "" = not known.
std::string caller_of(const TrendSite& site, Frames frame) {
  return std::next(frame) == site.frames.end() ? "" : function_of_frame(*std::next(frame));
}

// Whether a site's function is called by others as well, for what does not grow: a helper, and the heap is full of what
// it allocated for them.
bool is_helper(const TrendSite& site, Frames frame, const IncidentTrend& trend) {
  const std::string function = function_of_frame(*frame), caller = caller_of(site, frame);
  return std::ranges::any_of(trend.sites, [&](const TrendSite& other) {
    const Frames there = frame_of(other, function);
    return !is_growing(other, trend) && there != other.frames.end() && caller_of(other, there) != caller;
  });
}

// The innermost own code of a growing site, or around helpers the first that is none. The innermost frame if there is
// no own code, the innermost own code if there are only helpers.
Frames telling_frame(const TrendSite& site, const IncidentTrend& trend, const OperationPatterns& patterns) {
  const auto is_own = [&](const std::string& frame) {
    return role_of(function_of_frame(frame), patterns) == FrameRole::kCode;
  };
  const auto own = std::ranges::find_if(site.frames, is_own);
  for (Frames telling = own; telling != site.frames.end(); ++telling) {
    if (is_own(*telling) && !is_helper(site, telling, trend)) return telling;
  }
  return own != site.frames.end() ? own : site.frames.begin();
}

const IncidentFiller* filler_through(const Incident& incident, const TrendSite& site) {
  const auto found = std::ranges::find_if(incident.fillers, [&](const IncidentFiller& filler) {
    const Frames frame = filler.path.empty() ? site.frames.end() : frame_of(site, filler.path.front());
    return frame != site.frames.end() && !is_helper(site, frame, *incident.trend);
  });
  return found == incident.fillers.end() ? nullptr : &*found;
}

AnswerCulprit culprit_of(const IncidentFiller& filler) {
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kAllocates);
  culprit.code = filler.name;
  culprit.path = filler.path;
  culprit.operation_kind = filler.operation_kind;
  culprit.operation = filler.operation;
  culprit.share = filler.share;
  culprit.bytes = filler.bytes;
  culprit.error_bytes = filler.error_bytes;
  culprit.evidence = filler.evidence;
  return culprit;
}

std::optional<AnswerCulprit> grower(const Incident& incident, const OperationPatterns& patterns) {
  const TrendSite* site = incident.trend ? growing_site(*incident.trend) : nullptr;
  if (site == nullptr) return std::nullopt;
  if (const IncidentFiller* filler = filler_through(incident, *site)) return culprit_of(*filler);
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kAllocates);
  const Frames telling = telling_frame(*site, *incident.trend, patterns);
  culprit.code = code_of_frame(*telling);
  for (auto frame = telling;; --frame) {
    culprit.path.push_back(function_of_frame(*frame));
    if (frame == site->frames.begin()) break;
  }
  if (!site->component.empty()) culprit.operation_kind = "component", culprit.operation = site->component;
  if (const std::uint64_t whole = incident.trend->whole.last_held_bytes; whole > 0) {
    culprit.share = std::min(static_cast<double>(site->figures.last_held_bytes) / static_cast<double>(whole), 1.0);
  }
  culprit.bytes = site->figures.last_held_bytes;
  culprit.evidence = "trend.json";
  return culprit;
}

std::optional<AnswerCulprit> largest_filler(const Incident& incident) {
  if (incident.fillers.empty() || incident.fillers.front().share < threshold::kLarge) return std::nullopt;
  if (incident.fillers.front().kind != "site") return std::nullopt;  // filler_answer.h has those
  return culprit_of(incident.fillers.front());
}

// What a receiver unpacks others keep: it does not leak that. A receiver's own code may.
bool is_unpacked(const AnswerCulprit& culprit) {
  const bool is_receivers = culprit.operation_kind == "component" && culprit.operation.starts_with("receiver/") &&
                            culprit.operation.find(", ") == std::string::npos;
  return is_receivers &&
         (culprit.code.find("/pdata/") != std::string::npos || culprit.code.find("Unmarshal") != std::string::npos);
}

// Who allocated, as a heap profile tells. Of a leak whose growth a receiver unpacked it is nobody.
std::optional<AnswerCulprit> allocator(const Incident& incident, const std::string& cause,
                                       const OperationPatterns& patterns) {
  auto filler = largest_filler(incident);
  auto component = allocating_component(incident);
  const bool is_elsewhere = filler && component && filler->operation != component->operation;
  if (cause != "leak") return component && !(is_elsewhere && filler->share > component->share) ? component : filler;
  if (auto found = grower(incident, patterns)) return is_unpacked(*found) ? std::nullopt : found;
  if (is_elsewhere && filler->share < component->share) return std::nullopt;
  return filler && is_unpacked(*filler) ? std::nullopt : filler;
}

}  // namespace

// Of a Collector: one batch is unpacked by dozens of functions, so the component has most of the heap, and none of
// them.
std::optional<AnswerCulprit> allocating_component(const Incident& incident) {
  const CollectorComponent* most = incident.collector ? allocator_of(*incident.collector) : nullptr;
  if (most == nullptr || most->ratio < threshold::kLarge) return std::nullopt;
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kAllocates);
  culprit.operation_kind = "component";
  culprit.operation = printable(most->kind + "/" + most->id);
  // What keeps memory in such a package is known; for whom it allocates is not.
  const bool is_helper = is_helper_package(most->kind, most->id);
  culprit.code = is_helper ? "helper of every " + printable(most->kind) : component_text(culprit.operation);
  culprit.share = most->ratio;
  culprit.bytes = most->held_bytes;
  culprit.evidence = incident.collector->components_file;
  return culprit;
}

bool names_somebody(const std::string& cause) {
  return cause.empty() || cause == "leak" || cause == "spike" || cause == "undersized";
}

bool is_owner_told(const Incident& incident, const std::string& cause) {
  const IncidentHolder* owner = owner_of(incident);
  if (owner == nullptr) return false;
  if (cause != "undersized" || owner->component.empty() || !incident.limit_bytes) return true;
  return static_cast<double>(owner->bytes) >= threshold::kMost * static_cast<double>(*incident.limit_bytes);
}

std::optional<AnswerCulprit> find_culprit(const Incident& incident, const std::string& cause,
                                          const OperationPatterns& patterns) {
  if (!names_somebody(cause)) return std::nullopt;
  if (auto found = keeper(incident)) return found;
  auto owning = is_owner_told(incident, cause) ? owning_culprit(incident) : std::nullopt;
  if (owning && owning->operation_kind == "component") return owning;
  if (auto found = allocator(incident, cause, patterns)) return found;
  if (owning) return owning;
  if (auto found = growing_culprit(incident)) return found;
  auto filler = filling_culprit(incident);
  return filler ? with_growth(incident, std::move(*filler)) : filler;
}

}  // namespace oomw
