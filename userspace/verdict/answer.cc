// SPDX-License-Identifier: Apache-2.0
#include "verdict/answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/queue_text.h"
#include "incident/share_queries.h"
#include "verdict/causes.h"
#include "verdict/culprit.h"
#include "verdict/filler_answer.h"
#include "verdict/growth_answer.h"
#include "verdict/memory_parts.h"
#include "verdict/owner_answer.h"
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

// "The receiver otlp"; code as it is called.
std::string subject_of(const AnswerCulprit& culprit) {
  const bool is_code = culprit.operation_kind != "component" || culprit.code.find('(') != std::string::npos;
  return is_code ? culprit.code : "The " + culprit.code;
}

// Whose code: "main.put (main.go:44) allocated 92 % of the heap (118 MiB) for endpoint main.report".
std::string allocator_text(const AnswerCulprit& culprit) {
  std::string what;
  if (culprit.share) what = percent(*culprit.share) + " of the heap";
  if (culprit.bytes) what += what.empty() ? human_bytes(*culprit.bytes) : " (" + human_bytes(*culprit.bytes) + ")";
  return fmt::format("{} allocated {}{}", subject_of(culprit), what.empty() ? "most of what grew" : what,
                     operation_text(culprit));
}

// ---- What happened

using Sentence = std::string (*)(const Incident&, const AnswerCulprit*);

// Why nobody is named, and what would tell.
std::string nobody(const Incident& incident) {
  const IncidentFiller* first = incident.fillers.empty() ? nullptr : &incident.fillers.front();
  if (first != nullptr && first->kind != "site") return no_filler_text(incident);
  if (const auto component = allocating_component(incident)) {
    return allocator_text(*component) + "; who keeps that is not known.";
  }
  if (first != nullptr) {
    return fmt::format("No single code holds much of the heap; the most is {} with {}.", first->name,
                       percent(first->share));
  }
  if (best_capture(incident) != nullptr) return "No code could be named from its profiles.";
  const bool keeps_none = std::ranges::any_of(incident.captures, [](const IncidentCapture& capture) {
    return capture.reason == to_string(CaptureReason::kLinkedOut);
  });
  if (keeps_none) {
    return not_known(incident) +
           ": this Go program keeps no heap profile, because nothing in it uses runtime/pprof or net/http/pprof.";
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
  if (is_filler(*culprit)) return filler_sentence(incident);
  return is_keeper(*culprit) ? keeper_text(incident, *culprit) : culprit_text(incident, *culprit) + ".";
}

std::string leak(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit != nullptr && !is_keeper(*culprit)) {
    return fmt::format("Memory leak in {}: {}, and it grew until {} was reached.", program(incident),
                       culprit_text(incident, *culprit), its_limit(incident));
  }
  if (culprit != nullptr && (incident.collector || !culprit->operation.empty())) return keeper_text(incident, *culprit);
  return fmt::format("Memory leak in {}: it grew steadily until {} was reached. {}", program(incident),
                     its_limit(incident), whose(incident, culprit));
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
  return fmt::format("{} filled {}: {}.", kind_of_files(incident), its_limit(incident), first_why(incident));
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

constexpr const char* kEndThem = "See why these goroutines never end: each keeps its stack and what it refers to.";

std::string mend(const Incident& incident, const AnswerCulprit* culprit) {
  if (culprit == nullptr) return standing_text(incident).empty() ? action_without_culprit(incident) : kEndThem;
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
  return standing_text(incident).empty() ? mappings_action(incident) : kEndThem;
}
std::string trim_malloc(const Incident& /*incident*/, const AnswerCulprit* /*culprit*/) {
  return "Call malloc_trim(0) after peaks, or set MALLOC_ARENA_MAX=2 where many threads allocate; or use jemalloc.";
}
std::string bound_files(const Incident& incident, const AnswerCulprit* /*culprit*/) { return files_action(incident); }
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

struct AnswerRow {
  std::string_view cause;
  Sentence sentence;
  Action action;
};
constexpr std::array<AnswerRow, 11> kAnswerRows = {{{"leak", leak, mend},
                                                    {"spike", spike, bound},
                                                    {"undersized", undersized, raise},
                                                    {"off_heap", off_heap, inspect_mappings},
                                                    {"allocator_retention", retention, trim_malloc},
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
  if (!names_somebody(answer.cause)) return "";
  const bool adds_owner = is_owner_told(incident, answer.cause) && answer.culprit && !is_keeper(*answer.culprit);
  std::string text = (adds_owner ? " " + owner_text(incident) : "") + waiting;
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
  const auto found = std::ranges::find(kAnswerRows, std::string_view(answer.cause), &AnswerRow::cause);
  const AnswerRow& row = found != kAnswerRows.end() ? *found : kAnswerRows.back();
  const AnswerCulprit* culprit = answer.culprit ? &*answer.culprit : nullptr;
  answer.sentence = part_sentence(incident, program(incident));
  answer.action = part_action(incident);
  if (answer.sentence.empty()) answer.sentence = row.sentence(incident, culprit) + kept_text(incident, answer);
  if (answer.action.empty()) answer.action = row.action(incident, culprit);
  return answer;
}

}  // namespace oomw
