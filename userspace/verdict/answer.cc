// SPDX-License-Identifier: Apache-2.0
#include "verdict/answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/call_sites.h"
#include "facts/operation.h"
#include "incident/queue_text.h"
#include "incident/share_queries.h"
#include "verdict/causes.h"
#include "verdict/filler_answer.h"
#include "verdict/growth_answer.h"
#include "verdict/memory_parts.h"
#include "verdict/owner_answer.h"
#include "verdict/thresholds.h"
#include "verdict/verdict_evidence.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxText = 300;
constexpr std::size_t kMostShares = 3;

std::string size_of_limit(const Incident& incident) {
  return incident.limit_bytes ? human_bytes(*incident.limit_bytes) : "";
}

// "its limit of 256 MiB"; "its limit" if the size is not known.
std::string its_limit(const Incident& incident) {
  const std::string size = size_of_limit(incident);
  return size.empty() ? "its limit" : "its limit of " + size;
}

// The program that was killed, as people call it.
std::string program(const Incident& incident) {
  if (incident.victims.empty()) return "a process";
  const std::string& comm = incident.victims.front().comm;
  return comm.empty() ? "the victim" : printable(comm, 32);
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

bool is_keeper(const AnswerCulprit& culprit) { return culprit.claim == to_string(Claim::kKeeps); }

bool is_filler(const AnswerCulprit& culprit) { return culprit.claim == to_string(Claim::kFills); }

bool is_grower(const AnswerCulprit& culprit) { return culprit.claim == to_string(Claim::kGrows); }

bool is_by_metrics(const Incident& incident) { return incident.collector && keeper_of(*incident.collector) != nullptr; }

std::string operation_text(const AnswerCulprit& culprit) {
  if (culprit.operation.empty() || culprit.operation_kind == "component") return "";
  // An endpoint's handler that allocates itself would be named twice.
  if (culprit.code.starts_with(culprit.operation + " (")) return " (" + culprit.operation_kind + " handler)";
  if (culprit.operation_kind.empty()) return " for " + culprit.operation;  // several of different kinds
  const bool is_several = culprit.operation.find(", ") != std::string::npos;
  return fmt::format(" for {}{} {}", culprit.operation_kind, is_several ? "s" : "", culprit.operation);
}

// Whose code: "main.put (main.go:44) allocated 92 % of the heap (118 MiB) for endpoint main.report".
std::string allocator_text(const AnswerCulprit& culprit) {
  std::string what;
  if (culprit.share) what = percent(*culprit.share) + " of the heap";
  if (culprit.bytes) what += what.empty() ? human_bytes(*culprit.bytes) : " (" + human_bytes(*culprit.bytes) + ")";
  return fmt::format("{} allocated {}{}", culprit.code, what.empty() ? "most of what grew" : what,
                     operation_text(culprit));
}

// ---- Who

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

double gained(std::uint64_t first, std::uint64_t last) { return last > first ? static_cast<double>(last - first) : 0; }

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
  return fmt::format("{} ({})", function_of_frame(frame), place.substr(place.rfind('/') + 1));
}

bool is_growing(const TrendSite& site, const IncidentTrend& trend) {
  const double whole = gained(trend.whole.first_live_bytes, trend.whole.last_live_bytes);
  const double live = gained(site.figures.first_live_bytes, site.figures.last_live_bytes);
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

bool is_growth(const std::string& cause) {
  return cause.empty() || cause == "leak" || cause == "spike" || cause == "undersized";
}

std::optional<AnswerCulprit> find_culprit(const Incident& incident, const std::string& cause,
                                          const OperationPatterns& patterns) {
  if (!is_growth(cause)) return std::nullopt;
  if (auto found = keeper(incident)) return found;
  if (auto found = owning_component(incident)) return found;
  if (cause == "leak") {
    if (auto found = grower(incident, patterns)) return found;
  }
  if (auto found = largest_filler(incident)) return found;
  if (auto found = owning_culprit(incident)) return found;
  if (auto found = growing_culprit(incident)) return found;
  auto filler = filling_culprit(incident);
  return filler ? with_growth(incident, std::move(*filler)) : filler;
}

// ---- What happened

using Sentence = std::string (*)(const Incident&, const AnswerCulprit*);

// Why nobody is named, and what would tell.
std::string nobody(const Incident& incident) {
  if (!incident.fillers.empty() && incident.fillers.front().kind != "site") return no_filler_text(incident);
  if (!incident.fillers.empty()) {
    const IncidentFiller& first = incident.fillers.front();
    return fmt::format("No single code holds much of the heap; the most is {} with {}.", first.name,
                       percent(first.share));
  }
  const bool has_profile = best_capture(incident) != nullptr;
  if (has_profile) return "No code could be named from its profiles.";
  const bool keeps_none = std::ranges::any_of(incident.captures, [](const IncidentCapture& capture) {
    return capture.reason == to_string(CaptureReason::kLinkedOut);
  });
  if (keeps_none) {
    return not_known(incident) +
           ": this Go program keeps no heap profile, because it does not import runtime/pprof or net/http/pprof.";
  }
  if (is_go(incident)) return not_known(incident) + ": no heap profile was taken in time.";
  return not_known(incident) + ": no heap of this program could be read. A heap profile of its own runtime would tell.";
}

std::string first_why(const Incident& incident) {
  return incident.verdict && !incident.verdict->why.empty() ? printable(incident.verdict->why.front(), kMaxText) : "";
}

// By its queue's length, where the Collector's own metrics show it; else by the search for owners.
std::string keeper_text(const Incident& incident, const AnswerCulprit& culprit) {
  if (!is_by_metrics(incident)) return owner_text(incident);
  return fmt::format("Kept by {}: its sending queue holds {}.", culprit.code,
                     queue_text(*keeper_of(*incident.collector), incident.limit_bytes));
}

std::string culprit_text(const Incident& incident, const AnswerCulprit& culprit) {
  if (is_grower(culprit)) return grower_text(incident, culprit);
  return is_filler(culprit) ? filler_text(incident) : allocator_text(culprit);
}

// What follows the first part of a sentence: whose code, or why nobody is named.
std::string whose(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit == nullptr) return nobody(incident);
  return is_keeper(*culprit) ? keeper_text(incident, *culprit) : culprit_text(incident, *culprit) + ".";
}

std::string leak(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit != nullptr && is_keeper(*culprit)) return keeper_text(incident, *culprit);
  if (culprit != nullptr) {
    return fmt::format("Memory leak in {}: {}, and it grew until {} was reached.", program(incident),
                       culprit_text(incident, *culprit), its_limit(incident));
  }
  return fmt::format("Memory leak in {}: it grew steadily until {} was reached. {}", program(incident),
                     its_limit(incident), nobody(incident));
}

std::string spike(const Incident& incident, const AnswerCulprit* culprit) {
  return fmt::format("Sudden growth in {}: {}. {}", program(incident), first_why(incident), whose(incident, culprit));
}

std::string undersized(const Incident& incident, const AnswerCulprit* culprit) {
  const std::string head = fmt::format("The limit{} is too small for what {} needs; no leak was seen.",
                                       incident.limit_bytes ? " of " + size_of_limit(incident) : "", program(incident));
  return culprit == nullptr ? head : head + " " + whose(incident, culprit);
}

std::string off_heap(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  return fmt::format("The memory of {} is not on its Go heap: {}.", program(incident), first_why(incident));
}

std::string retention(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  return fmt::format("The C library kept freed memory in {}, which filled {}: {}.", program(incident),
                     its_limit(incident), first_why(incident));
}

std::string files(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  return fmt::format("Files in memory filled {}: {}.", its_limit(incident), first_why(incident));
}

std::string sibling(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  return fmt::format("Another process of the container held the memory, not {}: {}{}.", program(incident),
                     largest_other_had(incident), first_why(incident));
}

std::string pod(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  const std::string shares =
      victims_share(incident) ? ": " + printable(shares_text(incident, kMostShares), kMaxText) : "";
  return fmt::format("The pod's containers together filled its limit{}{}.",
                     incident.limit_bytes ? " of " + size_of_limit(incident) : "", shares);
}

std::string ancestor(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  const std::string owner = incident.limit_owner_cgroup_path.empty()
                                ? "a cgroup above the container"
                                : printable(incident.limit_owner_cgroup_path, kMaxText);
  const auto most = most_of_limit(incident);
  std::string held = most ? fmt::format("; {} alone held {} of it", program(incident), human_bytes(*most)) : "";
  if (most && named_filler(incident) != nullptr) held += ". In it, " + filler_text(incident);
  return fmt::format("The limit{} of {} was reached, which {} shares with others{}.",
                     incident.limit_bytes ? " of " + size_of_limit(incident) : "", owner, program(incident), held);
}

std::string node(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  return fmt::format("The node ran out of memory and the kernel chose {}; no limit of its own was reached.",
                     program(incident));
}

std::string unknown(const Incident& incident, const AnswerCulprit* culprit) {
  if (incident.victims.empty()) return "A process was OOM-killed; which one is not known.";
  const std::string head =
      fmt::format("{} reached {}; neither a leak nor a spike could be shown.", program(incident), its_limit(incident));
  return head + " " + whose(incident, culprit);
}

// ---- What to do

using Action = std::string (*)(const Incident&, const AnswerCulprit*);

std::string mend(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit == nullptr) return "Raise no limit before the code is known: a larger one only delays the next kill.";
  if (is_keeper(*culprit)) return owner_action(incident, *culprit);
  if (is_filler(*culprit)) return filler_action(incident);
  const std::string where = culprit->path.empty() ? culprit->code : culprit->path.front();
  return fmt::format("Free or bound what {} keeps; a larger limit only delays the next kill.", where);
}

std::string bound(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit != nullptr && is_keeper(*culprit)) return owner_action(incident, *culprit);
  return "Bound what one moment may ask for (requests at a time, the size of one), or size the limit for the peak.";
}

std::string raise(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit != nullptr && is_keeper(*culprit)) return bound(incident, culprit);
  if (incident.verdict && incident.verdict->suggested_limit) {
    const SuggestedLimit& limit = *incident.verdict->suggested_limit;
    return fmt::format("Raise the limit to {}{}{}.", limit.is_lower_bound ? "at least " : "", human_bytes(limit.bytes),
                       is_go(incident) ? " and set GOMEMLIMIT to 80 % of it" : "");
  }
  return is_go(incident) ? "Set GOMEMLIMIT to 80 % of the limit, or raise it." : "Raise the limit.";
}

std::string inspect_mappings(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  return standing_text(incident).empty() ? "Count goroutines and what cgo or mmap holds while it runs."
                                         : "See why these goroutines never end: each keeps its stack.";
}
std::string trim(const Incident& /*incident*/, const AnswerCulprit* /*culprit*/) {
  return "Call malloc_trim(0) after peaks, or set MALLOC_ARENA_MAX=2 where many threads allocate; or use jemalloc.";
}
std::string bound_files(const Incident& /*incident*/, const AnswerCulprit* /*culprit*/) {
  return "Give the tmpfs or emptyDir of medium Memory a sizeLimit, or put it on a disk.";
}
std::string inspect_processes(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  const std::string other = largest_other(incident);
  return fmt::format("Look at {}; the victim was not the large one.",
                     other.empty() ? "the other processes of the container" : other);
}
std::string share_pod(const Incident& /*incident*/, const AnswerCulprit* /*culprit*/) {
  return "Give the container that holds most a limit of its own, or the pod more memory.";
}
std::string inspect_ancestor(const Incident& incident, const AnswerCulprit* /*culprit*/) {
  if (most_of_limit(incident)) return fmt::format("Look at {} first: it held most of that limit.", program(incident));
  return "See what else shares that limit before you change this container's.";
}
std::string inspect_node(const Incident& /*incident*/, const AnswerCulprit* /*culprit*/) {
  return "See what the node's pods use against their requests; this container's limit is not the problem.";
}
std::string look(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit != nullptr && is_keeper(*culprit)) return owner_action(incident, *culprit);
  if (culprit != nullptr && is_filler(*culprit)) return filler_action(incident);
  return best_capture(incident) != nullptr ? "Look at what was held at the end: the newest profile of this incident."
                                           : "See what this node can read: oomwitness doctor.";
}

struct Row {
  std::string_view cause;
  Sentence sentence;
  Action action;
};
constexpr std::array<Row, 11> kRows = {{{"leak", leak, mend},
                                        {"spike", spike, bound},
                                        {"undersized", undersized, raise},
                                        {"off_heap", off_heap, inspect_mappings},
                                        {"allocator_retention", retention, trim},
                                        {"page_cache_or_tmpfs", files, bound_files},
                                        {"sibling", sibling, inspect_processes},
                                        {"pod_limit", pod, share_pod},
                                        {"ancestor_limit", ancestor, inspect_ancestor},
                                        {"node", node, inspect_node},
                                        {"", unknown, look}}};

// Who keeps what the sentence's culprit allocated, goroutines that pile up, and what grew it; "" if none is known.
std::string kept_text(const Incident& incident, const IncidentAnswer& answer) {
  std::string waiting = waiting_text(incident);
  if (!waiting.empty()) waiting.insert(0, " ");
  // Stacks of those that wait are not on the heap.
  if (answer.cause == "off_heap") return waiting.empty() ? growth_text(incident, answer.culprit) : waiting;
  if (!is_growth(answer.cause)) return "";
  const IncidentHolder* owner = owner_of(incident);
  const bool is_said = owner == nullptr || !answer.culprit || is_keeper(*answer.culprit);
  std::string text = (is_said ? "" : " " + owner_text(incident)) + waiting;
  const std::string connections = answer.culprit ? connections_text(incident, *answer.culprit) : "";
  if (!connections.empty()) text += " " + connections;
  if (const std::string pools = pools_text(incident); !pools.empty()) text += " " + pools;
  return text + growth_text(incident, answer.culprit) + growing_name_text(incident);
}

}  // namespace

IncidentAnswer answer_of(const Incident& incident, const OperationPatterns& patterns) {
  IncidentAnswer answer;
  if (incident.verdict) answer.cause = incident.verdict->cause, answer.confidence = incident.verdict->confidence;
  answer.culprit = find_culprit(incident, answer.cause, patterns);
  const auto found = std::ranges::find(kRows, std::string_view(answer.cause), &Row::cause);
  const Row& row = found != kRows.end() ? *found : kRows.back();
  const AnswerCulprit* culprit = answer.culprit ? &*answer.culprit : nullptr;
  answer.sentence = part_sentence(incident, program(incident));
  answer.action = part_action(incident);
  if (answer.sentence.empty()) answer.sentence = row.sentence(incident, culprit) + kept_text(incident, answer);
  if (answer.action.empty()) answer.action = row.action(incident, culprit);
  return answer;
}

}  // namespace oomw
