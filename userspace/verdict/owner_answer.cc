// SPDX-License-Identifier: Apache-2.0
#include "verdict/owner_answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "events/contents_file.h"
#include "facts/collector_components.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxLinks = 3;  // of a chain, in a sentence
constexpr std::size_t kMaxLink = 100;

// Objects of which only the size is known tell nothing, and are left out.
std::string chain_text(const std::vector<std::string>& chain) {
  constexpr std::string_view kArrow = " -> ", kLeftOut = " -> ...";
  std::string text;
  std::size_t shown = 0;
  for (const std::string& link : chain) {
    const std::string_view object = std::string_view(link).substr(link.starts_with(kArrow) ? kArrow.size() : 0);
    const bool is_named = !object.starts_with(kUnnamedObject) && !object.starts_with(kUnnamedBefore);
    const bool is_unknown = !is_named || shown == kMaxLinks;
    if (!is_unknown) text += printable(link, kMaxLink), ++shown;
    if (is_unknown && !text.ends_with(kLeftOut)) text += kLeftOut;
    if (shown == kMaxLinks && is_unknown) break;
  }
  return text.ends_with(kLeftOut) ? text : text + ".";
}

std::string evidence_of(const Incident& incident) {
  for (const IncidentAnalysis& analysis : incident.analyses) {
    if (analysis.of == "go" && !analysis.files.empty()) return analysis.files.front().name;
  }
  return "search for owners";
}

// What the owner keeps in a row, counted in its memory. Each of an exporter's requests is a batch that waits to be
// sent.
std::string owned_queue_text(const Incident& incident, const IncidentHolder& owner) {
  const auto queue = std::ranges::find_if(incident.fillers, [](const IncidentFiller& filler) {
    return filler.runtime == "go" && filler.kind == "holder" && filler.evidence == "analysis" && filler.count > 0;
  });
  if (queue == incident.fillers.end()) return "";
  const std::size_t of = queue->name.find(" of ");
  if (of == std::string::npos) return "";
  const std::string kind = queue->name.substr(0, of), item = queue->name.substr(of + 4);
  const bool is_sending = owner.component.starts_with("exporter/") && item.find("queue") != std::string::npos;
  if (is_sending) return fmt::format(" Its sending queue holds {} batches.", queue->count);
  return fmt::format(" That is a {} of {} {}.", kind, queue->count, printable(item, kMaxLink));
}

std::string code_of(const IncidentHolder& owner) {
  return owner.component.empty() ? printable(owner.chain.front(), 200) : component_text(owner.component);
}

}  // namespace

std::string component_text(const std::string& component) {
  const std::size_t slash = component.find('/');
  const std::string kind = component.substr(0, slash);
  const std::string id = slash == std::string::npos ? "" : component.substr(slash + 1);
  if (is_helper_package(kind, id)) {
    return kind == "exporter" ? "an exporter's sending queue or its retries" : "a " + kind;
  }
  return kind + " " + printable(id, kMaxLink);
}

const IncidentHolder* owner_of(const Incident& incident) {
  if (incident.holders.empty()) return nullptr;
  const IncidentHolder& first = incident.holders.front();
  return first.is_owner && !first.chain.empty() ? &first : nullptr;
}

std::optional<AnswerCulprit> owning_culprit(const Incident& incident) {
  const IncidentHolder* owner = owner_of(incident);
  if (owner == nullptr) return std::nullopt;
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kKeeps);
  culprit.code = code_of(*owner);
  culprit.path = owner->chain;
  if (!owner->component.empty()) {
    culprit.operation_kind = "component";
    culprit.operation = owner->component;
  }
  culprit.share = owner->share;
  culprit.bytes = owner->bytes;
  culprit.evidence = evidence_of(incident);
  return culprit;
}

std::string owner_text(const Incident& incident) {
  const IncidentHolder& owner = *owner_of(incident);
  const std::string grown = owner.growth_ratio && *owner.growth_ratio > 1 + threshold::kMaterial
                                ? fmt::format(", {:.1f} times what it was at the reading before", *owner.growth_ratio)
                                : "";
  return fmt::format("Kept by {}: {:.0f} % of the heap that could be traced ({}{}) hangs on {}{}", code_of(owner),
                     owner.share * 100, human_bytes(owner.bytes), grown, chain_text(owner.chain),
                     owned_queue_text(incident, owner));
}

namespace {

// Of a Collector's exporters: what they sent was not taken, so they wait to send it again.
std::string retrying_text(const Incident& incident) {
  std::uint64_t senders = 0;
  for (const GoroutineStack& one : incident.goroutines) {
    const bool is_retrying =
        std::ranges::any_of(one.stack, [](const std::string& frame) { return frame.ends_with("(*retrySender).Send"); });
    if (is_retrying) senders += one.count;
  }
  if (senders == 0) return "";
  return fmt::format("{} of the exporters' senders wait to send again what a backend did not take.", senders);
}

constexpr std::uint64_t kManyGoroutines = 200;

std::string places_text(const Incident& incident) {
  if (incident.goroutines.empty()) return "";
  const GoroutineStack& most = incident.goroutines.front();
  const auto all = static_cast<double>(incident.goroutine_count.value_or(most.count));
  const bool is_most = static_cast<double>(most.count) >= threshold::kMost * all;
  if (most.count < kManyGoroutines || !is_most || most.state != "waiting" || most.stack.empty()) return "";
  std::string where = printable(most.stack.front(), kMaxLink);
  if (most.stack.size() > 1) where += ", called by " + printable(most.stack[1], kMaxLink);
  return fmt::format("{} of {} goroutines wait in {}.", most.count, static_cast<std::uint64_t>(all), where);
}

std::string waited_at_kill_text(const Incident& incident) {
  const IncidentCapture* counted = goroutines_at_kill(incident);
  if (counted == nullptr) return "";
  std::uint64_t all = 0;
  for (const GoroutineTally& one : counted->goroutines) all += one.count;
  const GoroutineTally& most = counted->goroutines.front();
  const bool is_most = static_cast<double>(most.count) >= threshold::kMost * static_cast<double>(all);
  if (most.count < kManyGoroutines || !is_most || most.reason.empty()) return "";
  return fmt::format("{}{} goroutines waited at the kill ({}).", counted->goroutines_cut.empty() ? "" : "At least ",
                     most.count, printable(most.reason, GoroutineList::kMaxReasonChars));
}

// Its goroutines wait for the backend: what they wait for adds nothing.
bool is_kept_by_exporter(const Incident& incident) {
  const IncidentHolder* owner = owner_of(incident);
  return owner != nullptr && owner->component.starts_with("exporter/");
}

}  // namespace

std::string standing_text(const Incident& incident) {
  return is_kept_by_exporter(incident) ? retrying_text(incident) : places_text(incident);
}

std::string waiting_text(const Incident& incident) {
  const std::string standing = standing_text(incident);
  const std::string at_kill = is_kept_by_exporter(incident) ? "" : waited_at_kill_text(incident);
  return standing + (standing.empty() || at_kill.empty() ? "" : " ") + at_kill;
}

bool goroutines_matter(const Incident& incident) {
  constexpr std::uint64_t kWorthAList = 100;
  const auto is_large = [](const auto& one) { return one.count >= kWorthAList; };
  const IncidentCapture* at_kill = goroutines_at_kill(incident);
  return std::ranges::any_of(incident.goroutines, is_large) ||
         (at_kill != nullptr && std::ranges::any_of(at_kill->goroutines, is_large)) || !waiting_text(incident).empty();
}

namespace {

// Notes of analyses about connections, without what they begin with.
std::vector<std::string> connections_of(const Incident& incident) {
  const std::string begin = "analyses: " + std::string(kConnectionNote);
  std::vector<std::string> found;
  for (const std::string& note : incident.notes) {
    if (note.starts_with(begin)) found.push_back(printable(note.substr(begin.size())));
  }
  return found;
}

// "10.0.0.7:4317" of "to 10.0.0.7:4317: 2 not answered"; "" = it is about no peer.
std::string peer_of(const std::string& connection) {
  constexpr std::string_view kTo = "to ";
  const std::size_t end = connection.find(": ");
  return connection.starts_with(kTo) && end != std::string::npos ? connection.substr(kTo.size(), end - kTo.size()) : "";
}

// Whether requests that wait on their way keep the heap, and no queue or batch of the component: the chain begins at a
// goroutine that handed something over, "goroutine http.(*conn).serve in batchprocessor.(*singleShardBatcher).consume".
bool is_kept_by_requests(const AnswerCulprit& culprit) {
  if (culprit.path.empty()) return false;
  const std::string& root = culprit.path.front();
  if (!root.starts_with("goroutine ") || root.find(" in ") == std::string::npos) return false;
  const std::string method = root.substr(root.rfind('.') + 1);
  return std::ranges::any_of(std::array{"consume", "Consume", "export", "Export", "push"},
                             [&](const char* word) { return method.starts_with(word); });
}

}  // namespace

std::string connections_text(const Incident& incident, const AnswerCulprit& culprit) {
  const auto connections = connections_of(incident);
  if (connections.empty() || !culprit.operation.starts_with("exporter/")) return "";
  return fmt::format("Connections of the process: {}.", fmt::join(connections, "; "));
}

std::string owner_action(const Incident& incident, const AnswerCulprit& culprit) {
  const bool is_exporter = culprit.operation.starts_with("exporter/");
  const bool is_processor = culprit.operation.starts_with("processor/");
  const auto connections = connections_of(incident);
  const std::string peer = connections.empty() ? "" : peer_of(connections.front());
  const std::string why = peer.empty() ? "" : "; see first why " + peer + " takes nothing";
  if ((is_exporter || is_processor) && is_kept_by_requests(culprit)) {
    return fmt::format(
        "Raise no limit: requests wait there for what comes after it. Mend the backend{}, and put "
        "memory_limiter first with a limit below the container's, so that more of them are refused.",
        why);
  }
  if (is_exporter)
    return fmt::format("Raise no limit: cap the sending queue, or mend the backend it waits for{}.", why);
  if (is_processor) {
    return "Raise no limit: lower the processor's send_batch_size or what it keeps, and put memory_limiter first with "
           "a limit below the container's.";
  }
  if (!culprit.operation.empty()) {
    return "Raise no limit: put memory_limiter first, with a limit below the container's, and see why the data is not "
           "passed on.";
  }
  return fmt::format("Free or bound what {} keeps; a larger limit only delays the next kill.", culprit.code);
}

}  // namespace oomw
