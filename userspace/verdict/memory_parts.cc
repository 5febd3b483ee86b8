// SPDX-License-Identifier: Apache-2.0
#include "verdict/memory_parts.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/estimate_text.h"
#include "base/text.h"
#include "events/memory_part.h"
#include "verdict/filler_answer.h"
#include "verdict/growth_answer.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

using namespace threshold;

constexpr std::size_t kShownFillers = 3;
constexpr std::uint64_t kHeapStep = 16u << 20;  // of an advised -Xmx, and the smallest that is advised
constexpr double kRoom = 0.05;                  // of the limit, for what is not read: page tables, the kernel's own

constexpr std::string_view kNative = "native";

const MemoryShare* part_of(const IncidentComposition& composition, std::string_view name, std::string_view runtime) {
  const auto found = std::ranges::find_if(
      composition.parts, [&](const MemoryShare& part) { return part.name == name && part.runtime == runtime; });
  return found == composition.parts.end() ? nullptr : &*found;
}

std::uint64_t java_heap_of(const IncidentComposition& composition) {
  const MemoryShare* heap = part_of(composition, memory_part::kJavaHeap, kJvm);
  return heap == nullptr ? 0 : heap->bytes;
}

std::uint64_t sum_of(const IncidentComposition& composition) {
  std::uint64_t sum = 0;
  for (const MemoryShare& part : composition.parts) sum += part.bytes;
  return sum;
}

bool is_largest(const IncidentComposition& composition, std::uint64_t bytes) {
  return std::ranges::all_of(composition.parts, [&](const MemoryShare& part) { return part.bytes <= bytes; });
}

std::string age_text(const Incident& incident) {
  // Of an incident of another node both may be any number, so that their difference may have no room.
  const double seconds =
      (static_cast<double>(incident.time.ns) - static_cast<double>(incident.composition->as_of.ns)) / 1e9;
  return fmt::format("{:.1f} s before the kill", std::max(seconds, 0.0));
}

struct PartCause {
  std::string_view cause, part, runtime;  // the advice is for programs of this runtime
  double least_share;                     // of the memory that was read
  std::string_view what, action;
  std::array<std::string_view, 2> step;  // what, command
};

// Stacks and metaspace bring malloc and kernel memory with them, so they are the cause before they are half.
constexpr std::array<PartCause, 4> kPartCauses = {
    {{"direct_buffers",
      memory_part::kDirectBuffers,
      kJvm,
      kMost,
      "Direct buffers",
      "Free or bound direct buffers (-XX:MaxDirectMemorySize bounds those of the JDK); a smaller heap does not help.",
      {"Bound direct buffers, so that the program gets an OutOfMemoryError with the stack that asked for one:",
       "JAVA_TOOL_OPTIONS=-XX:MaxDirectMemorySize=64m"}},
     {"thread_stacks",
      memory_part::kThreadStacks,
      kJvm,
      kLarge,
      "Threads",
      "Bound the number of threads: use a pool, or find who starts them; a smaller heap does not help.",
      {"Who starts threads, while it runs (PID: of the next run):", "jcmd PID Thread.print | grep -c '^\"'"}},
     {"thread_stacks",
      memory_part::kThreadStacks,
      kNative,
      kMost,
      "Threads",
      "Bound the number of threads: use a pool, or find who starts them and why they do not end.",
      {"How many threads there are, while it runs (PID: of the next run):", "ls /proc/PID/task | wc -l"}},
     {"metaspace",
      memory_part::kMetaspace,
      kJvm,
      kLarge,
      "Loaded classes",
      "Find who makes classes or class loaders again and again (proxies, scripts, redeployments); a smaller heap does "
      "not help.",
      {"Who loads classes, while it runs (PID: of the next run):", "jcmd PID VM.classloader_stats"}}}};

const PartCause* cause_of(const Incident& incident) {
  const std::string cause = incident.verdict ? incident.verdict->cause : "";
  if (!incident.composition) return nullptr;
  const auto found = std::ranges::find_if(kPartCauses, [&](const PartCause& one) {
    return one.cause == cause && part_of(*incident.composition, one.part, one.runtime) != nullptr;
  });
  return found == kPartCauses.end() ? nullptr : &*found;
}

std::string mib_text(std::uint64_t bytes) { return fmt::format("{}m", bytes >> 20); }

}  // namespace

std::optional<HeapCeiling> misfit_of(const Incident& incident) {
  const bool is_known = incident.composition && incident.composition->max_heap_bytes && incident.limit_bytes;
  if (!is_known || *incident.limit_bytes == 0) return std::nullopt;
  const IncidentComposition& composition = *incident.composition;
  HeapCeiling ceiling;
  ceiling.limit_bytes = *incident.limit_bytes;
  ceiling.max_heap_bytes = *composition.max_heap_bytes;
  ceiling.heap_bytes = java_heap_of(composition);
  ceiling.beside_bytes = sum_of(composition) - ceiling.heap_bytes;
  if (ceiling.max_heap_bytes >> 48 != 0) return std::nullopt;
  const std::uint64_t need = ceiling.max_heap_bytes + ceiling.beside_bytes;
  if (need <= ceiling.limit_bytes || !is_largest(composition, ceiling.heap_bytes)) return std::nullopt;
  const auto room = static_cast<std::uint64_t>(kRoom * static_cast<double>(ceiling.limit_bytes));
  if (ceiling.limit_bytes > ceiling.beside_bytes + room + kHeapStep) {
    ceiling.fitting_heap_bytes = (ceiling.limit_bytes - ceiling.beside_bytes - room) / kHeapStep * kHeapStep;
  }
  const auto step = static_cast<std::uint64_t>(kLimitStepBytes);
  const auto whole = static_cast<std::uint64_t>(static_cast<double>(need) * (1 + kRoom));
  ceiling.fitting_limit_bytes = (whole + step - 1) / step * step;
  return ceiling;
}

std::optional<Finding> judge_heap_ceiling(const Evidence& evidence) {
  const auto ceiling = misfit_of(evidence.incident);
  if (!ceiling) return std::nullopt;
  Finding finding{"does_not_fit", kMeasured};
  finding.why.push_back(fmt::format("the heap may grow to {} and {} lie beside it: {} in a limit of {}",
                                    human_bytes(ceiling->max_heap_bytes), human_bytes(ceiling->beside_bytes),
                                    human_bytes(ceiling->max_heap_bytes + ceiling->beside_bytes),
                                    human_bytes(ceiling->limit_bytes)));
  finding.why.push_back(fmt::format("the heap was the largest part, {} {}", human_bytes(ceiling->heap_bytes),
                                    age_text(evidence.incident)));
  return finding;
}

std::optional<Finding> judge_part(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  if (!incident.composition) return std::nullopt;
  const IncidentComposition& composition = *incident.composition;
  const std::uint64_t whole = sum_of(composition), heap = java_heap_of(composition);
  for (const PartCause& one : kPartCauses) {
    const MemoryShare* part = part_of(composition, one.part, one.runtime);
    if (part == nullptr || part->bytes <= heap) continue;
    if (static_cast<double>(part->bytes) < one.least_share * static_cast<double>(whole)) continue;
    Finding finding{std::string(one.cause), one.least_share >= kMost ? kMeasured : kLikely};
    finding.why.push_back(fmt::format("{} of its {} were {} {} ({}){}", human_bytes(part->bytes), human_bytes(whole),
                                      one.part, age_text(incident), printable(part->source),
                                      one.runtime == kJvm ? "; its heap held " + human_bytes(heap) : ""));
    return finding;
  }
  return std::nullopt;
}

std::string fillers_text(const Incident& incident) {
  std::string text;
  std::size_t shown = 0;
  for (const IncidentFiller& filler : incident.fillers) {
    if (filler.evidence != "analysis" || filler.kind != "type" || ++shown > kShownFillers) continue;
    text +=
        fmt::format("{}{} x {} ({})", text.empty() ? "" : ", ", estimated_count_text(filler.count, filler.error_bytes),
                    printable(filler.name), estimate_text(filler.bytes, filler.error_bytes));
  }
  return text.empty() ? collection_text(incident) : text + own_class_text(incident, incident.fillers.front());
}

// A part that fills the memory says nothing of how it came to that.
std::string rise_text(const Incident& incident) {
  for (const Finding& other : incident.verdict->also) {
    if (other.why.empty()) continue;
    const std::string why = printable(other.why.front(), 300);
    if (other.cause == "leak") return fmt::format(" Perhaps a leak, too: {}.", why);
    if (other.cause == "spike") return fmt::format(" A sudden growth, too: {}.", why);
  }
  return "";
}

std::string part_sentence(const Incident& incident, std::string_view program) {
  if (incident.verdict && incident.verdict->cause == "does_not_fit") {
    const auto ceiling = misfit_of(incident);
    if (!ceiling) return "";
    const std::string fillers = fillers_text(incident);
    return fmt::format(
        "The maximum heap of {} does not fit: {} of heap (-Xmx) and {} beside it are more than the limit "
        "of {}, so the kernel ended it before that heap was full.{}{}{}",
        program, human_bytes(ceiling->max_heap_bytes), human_bytes(ceiling->beside_bytes),
        human_bytes(ceiling->limit_bytes), fillers.empty() ? "" : " Its heap held " + fillers + ".",
        rise_text(incident), touched_text(incident));
  }
  const PartCause* part = cause_of(incident);
  if (part == nullptr) return "";
  return fmt::format("{} filled {}: {}.{}{}", part->what, program,
                     incident.verdict->why.empty() ? "" : printable(incident.verdict->why.front(), 300),
                     rise_text(incident), touched_text(incident));
}

std::string part_action(const Incident& incident) {
  if (const PartCause* part = cause_of(incident)) return std::string(part->action);
  const auto ceiling = misfit_of(incident);
  if (!ceiling || !incident.verdict || incident.verdict->cause != "does_not_fit") return "";
  const std::string limit = human_bytes(ceiling->fitting_limit_bytes);
  if (!ceiling->fitting_heap_bytes) return fmt::format("Raise the limit to {}.", limit);
  return fmt::format("Set -Xmx{}, or raise the limit to {}.", mib_text(*ceiling->fitting_heap_bytes), limit);
}

std::vector<NextStep> part_steps(const Incident& incident) {
  if (const PartCause* part = cause_of(incident)) {
    return {{std::string(part->step[0]), {std::string(part->step[1])}}};
  }
  const auto ceiling = misfit_of(incident);
  if (!ceiling || !incident.verdict || incident.verdict->cause != "does_not_fit") return {};
  std::vector<NextStep> steps;
  if (ceiling->fitting_heap_bytes) {
    steps.push_back(
        {"Give the heap a maximum that fits. The collector then works harder before the limit, and a heap that "
         "really is too small ends in an OutOfMemoryError with a stack:",
         {fmt::format("JAVA_TOOL_OPTIONS=-Xmx{}", mib_text(*ceiling->fitting_heap_bytes))}});
  }
  steps.push_back({fmt::format("Or raise the limit to {}: the maximum heap, what lies beside it, and 5 % of room.",
                               human_bytes(ceiling->fitting_limit_bytes)),
                   {}});
  return steps;
}

}  // namespace oomw
