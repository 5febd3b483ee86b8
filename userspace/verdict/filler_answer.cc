// SPDX-License-Identifier: Apache-2.0
#include "verdict/filler_answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/estimate_text.h"
#include "base/text.h"
#include "events/contents_names.h"
#include "verdict/growth_answer.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxName = 160;
constexpr std::string_view kPython = "cpython";
constexpr std::string_view kV8 = "v8";  // its holders are the program's own classes
constexpr double kWorthSaying = 0.05;   // of the memory: less explains nothing

bool is_by_analysis(const IncidentFiller& filler) { return filler.evidence == "analysis"; }

// Of a literal: whose code made it its name does not show.
bool is_plain_object(const IncidentFiller& filler) {
  return filler.runtime == kV8 && filler.kind == "holder" && filler.name == "Object";
}

// What is in a holder comes before what it consists of.
int rank_of(const IncidentFiller& filler) {
  if (filler.kind != "holder") return 2;
  return filler.held_as.empty() ? 1 : 0;
}

// "list of dict" -> "a list of 500000 dict"; "dict" of a type -> "500000 objects of type dict".
std::string what(const IncidentFiller& filler) {
  const std::string name = printable(filler.name, kMaxName);
  const std::string count = estimated_count_text(filler.count, filler.error_bytes);
  if (is_plain_object(filler)) return fmt::format("{} plain objects with what only they hold", count);
  if (filler.runtime == kV8 && filler.kind == "holder") {
    return fmt::format("{} `{}` objects with what only they hold", count, name);
  }
  if (filler.kind == "size") return fmt::format("{} {}", count, name);
  if (filler.kind != "holder") return fmt::format("{} objects of type {}", count, name);
  const std::size_t of = name.find(" of ");
  if (of == std::string::npos) return fmt::format("a {} with {} entries", name, filler.count);
  return fmt::format("a {} of {} {}", name.substr(0, of), filler.count, name.substr(of + 4));
}

std::string held(const IncidentFiller& filler) {
  return filler.held_as.empty() ? "" : " held as " + printable(filler.held_as, kMaxName);
}

// What any Python program has: of which of its data they are their names do not show. Names come without their module,
// so classes of the standard library look like the program's.
bool is_plain_python(const IncidentFiller& filler) {
  constexpr std::array<std::string_view, 24> kPlain = {
      "str",   "bytes",    "bytearray", "int",     "float",  "complex", "bool",      "list",
      "tuple", "dict",     "set",       "cell",    "object", "type",    "frozenset", "memoryview",
      "code",  "function", "method",    "weakref", "frame",  "module",  "generator", "builtin_function_or_method"};
  return filler.kind == "type" && (std::ranges::find(kPlain, filler.name) != kPlain.end() ||
                                   filler.name.find(' ') != std::string::npos);  // "key tables of dicts"
}

// Classes of the language's own library, arrays and blocks of a size: whose code made them their names do not show.
bool is_of_platform(const IncidentFiller& filler) {
  const std::string_view name = filler.name;
  if (filler.runtime == kV8) return filler.kind != "holder" || is_plain_object(filler);
  if (filler.runtime == kPython) return is_plain_python(filler);
  if (filler.kind == "size") return true;
  constexpr std::array<std::string_view, 7> kPackages = {"java.",    "javax.", "jdk.",       "sun.",
                                                         "com.sun.", "std::",  "__gnu_cxx::"};
  return name.ends_with("[]") ||
         std::ranges::any_of(kPackages, [&](std::string_view package) { return name.starts_with(package); });
}

// The program's own class of which most objects were counted; nullptr: none, or a runtime with other types.
const IncidentFiller* own_class(const Incident& incident) {
  const IncidentFiller* most = nullptr;
  for (const IncidentFiller& filler : incident.fillers) {
    const bool has_classes =
        filler.runtime == "jvm" || filler.runtime == kV8 || filler.runtime == kPython || filler.runtime == "native";
    const bool counts = has_classes && (filler.kind == "type" || filler.runtime == kV8) && !is_of_platform(filler);
    if (counts && (most == nullptr || filler.count > most->count)) most = &filler;
  }
  return most;
}

std::string tool_text(const IncidentFiller& filler) {
  const std::string_view runtime = filler.runtime;
  if (runtime == "cpython") return " (in Python, tracemalloc shows where they are made)";
  if (runtime == "jvm") return " (-XX:+HeapDumpOnOutOfMemoryError, or jcmd PID GC.heap_dump FILE while it runs)";
  if (runtime == kV8) {
    // Buffers lie outside of the heap that this option bounds.
    const std::string_view bound = filler.name == "ArrayBuffer"
                                       ? ""
                                       : "; with --max-old-space-size below the limit, Node ends with a stack instead";
    return fmt::format(" (node --heapsnapshot-signal=SIGUSR2 writes a heap snapshot that shows what holds them{})",
                       bound);
  }
  return "";
}

std::string share_of(const IncidentFiller& filler) {
  return fmt::format("{}{:.0f} %", filler.error_bytes ? "about " : "", filler.share * 100);
}

std::string bytes_of(const IncidentFiller& filler) {
  return estimate_text(filler.bytes, filler.error_bytes) + (filler.error_bytes ? " by a sample" : "");
}

std::string age(const Incident& incident, const IncidentFiller& filler) {
  if (!filler.as_of) return "";
  // Of an incident of another node both may be any number, so that their difference may have no room.
  const double seconds = (static_cast<double>(incident.time.ns) - static_cast<double>(filler.as_of->ns)) / 1e9;
  return fmt::format(", read {:.1f} s before the kill", std::max(seconds, 0.0));
}

// Where a runtime's own objects are little beside what native code took from malloc; "" otherwise. Python takes its
// objects above 512 bytes from malloc, too.
std::string native_blocks_text(const Incident& incident, const IncidentFiller& first) {
  if (!incident.composition || first.runtime == "native") return "";
  std::uint64_t whole = 0, blocks = 0;
  for (const MemoryShare& part : incident.composition->parts) {
    whole += part.bytes;
    if (part.name == "malloc: in use" || part.name == "malloc: large blocks") blocks += part.bytes;
  }
  const double share = static_cast<double>(blocks) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
  std::uint64_t own = 0;
  for (const IncidentFiller& filler : incident.fillers) {
    if (is_by_analysis(filler) && filler.kind == "type" && filler.runtime == first.runtime) own += filler.bytes;
  }
  const bool is_little = static_cast<double>(own) < threshold::kLarge * static_cast<double>(blocks);
  if (share < threshold::kMost || !is_little) return "";
  return fmt::format(
      "{:.0f} % of its memory ({}{}) are blocks that native code took from malloc; its own objects are "
      "little beside them.",
      share * 100, human_bytes(blocks), age(incident, first));
}

}  // namespace

// Arrays and classes of the library say little.
std::string own_class_text(const Incident& incident, const IncidentFiller& filler) {
  const IncidentFiller* own = is_of_platform(filler) ? own_class(incident) : nullptr;
  if (own == nullptr || own->count < filler.count / 10) return "";
  return fmt::format("; {} there were most of {}, {} objects",
                     own->runtime == kPython ? "of other classes" : "of its own classes",
                     printable(own->name, kMaxName), estimated_count_text(own->count, own->error_bytes));
}

const IncidentFiller* named_filler(const Incident& incident) {
  const IncidentFiller* best = nullptr;
  for (const IncidentFiller& filler : incident.fillers) {
    // Sizes of blocks do not show whose they are.
    if (!is_by_analysis(filler) || filler.kind == "size" || filler.share < threshold::kLarge) continue;
    if (best == nullptr || rank_of(filler) < rank_of(*best)) best = &filler;
  }
  return best;
}

std::optional<AnswerCulprit> filling_culprit(const Incident& incident) {
  const IncidentFiller* filler = named_filler(incident);
  if (filler == nullptr) return std::nullopt;
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kFills);
  culprit.code = what(*filler) + held(*filler);
  culprit.share = filler->share;
  culprit.bytes = filler->bytes;
  culprit.error_bytes = filler->error_bytes;
  culprit.evidence = filler->evidence;
  return culprit;
}

std::string filler_text(const Incident& incident) {
  const IncidentFiller* filler = named_filler(incident);
  if (filler == nullptr) return "";
  return fmt::format("{}{} filled {} of its memory ({}{}){}", what(*filler), held(*filler), share_of(*filler),
                     bytes_of(*filler), age(incident, *filler), own_class_text(incident, *filler));
}

std::string no_filler_text(const Incident& incident) {
  const auto first = std::ranges::find_if(incident.fillers, is_by_analysis);
  if (first == incident.fillers.end()) return "";
  const std::string share = share_of(*first);
  if (first->kind == "size" && first->share >= threshold::kLarge) {
    return fmt::format("{}; {} are {} of its memory{}.", not_known(incident), what(*first), share,
                       own_class_text(incident, *first));
  }
  if (std::string text = native_blocks_text(incident, *first); !text.empty()) return text;
  if (first->share < kWorthSaying) return "No single type or container filled much of its memory.";
  return fmt::format("No single type or container filled much of its memory; the most is {}{} with {}.", what(*first),
                     held(*first), share);
}

std::string pools_text(const Incident& incident) {
  constexpr std::size_t kMaxTypes = 3;
  constexpr double kLeastShare = 0.1;
  const PoolsAtKill* counted = pools_at_kill(incident);
  if (counted == nullptr || counted->bytes == 0) return "";
  std::string types;
  for (std::size_t i = 0; i < std::min(kMaxTypes, counted->types.size()); ++i) {
    const PoolsAtKill::Type& type = counted->types[i];
    const double share = static_cast<double>(type.bytes) / static_cast<double>(counted->bytes);
    if (share < kLeastShare) break;
    types += fmt::format("{} {:.0f} %{} {}", i == 0 ? ", by an estimate" : ",", share * 100, i == 0 ? " of them" : "",
                         printable(type.name, kMaxName));
  }
  return fmt::format("At the kill {}{} were small objects{}.", counted->cut.empty() ? "" : "at least ",
                     human_bytes(counted->bytes), types);
}

const TrendSite* growing_name(const Incident& incident) {
  if (!incident.contents_trend) return nullptr;
  const auto gain = [](const TrendFigures& figures) {
    return figures.last_held_bytes - std::min(figures.first_held_bytes, figures.last_held_bytes);
  };
  const IncidentTrend& trend = *incident.contents_trend;
  const double needed = threshold::kMost * static_cast<double>(gain(trend.whole));
  const TrendSite* best = nullptr;
  for (const TrendSite& site : trend.sites) {
    const std::uint64_t gained = gain(site.figures);
    if (site.frames.empty() || gained == 0 || static_cast<double>(gained) < needed) continue;
    const auto rank = [&](const TrendSite& one) { return std::pair(told_by_name(one.frames), gain(one.figures)); };
    if (best == nullptr || rank(site) > rank(*best)) best = &site;
  }
  return best;
}

std::string name_and_holder(const TrendSite& site) {
  std::string text;
  for (const std::string& line : site.frames) text += (text.empty() ? "" : ", ") + printable(line, kMaxName);
  return text;
}

std::string growing_name_text(const Incident& incident) {
  const TrendSite* site = growing_name(incident);
  if (site == nullptr || incident.contents_trend->points.empty()) return "";
  const IncidentTrend& trend = *incident.contents_trend;
  const auto baseline = std::ranges::find(trend.points, true, &IncidentTrend::Point::is_baseline);
  const auto first = baseline == trend.points.end() ? trend.points.begin() : baseline;
  const double seconds = (static_cast<double>(trend.points.back().time.ns) - static_cast<double>(first->time.ns)) / 1e9;
  return fmt::format(" In {} readings over {:.0f} s, {} grew from {} to {}.", trend.points.end() - first,
                     std::max(seconds, 0.0), name_and_holder(*site), human_bytes(site->figures.first_held_bytes),
                     human_bytes(site->figures.last_held_bytes));
}

std::string filler_action(const Incident& incident) {
  const IncidentFiller* filler = named_filler(incident);
  if (filler == nullptr) return "";
  if (filler->kind == "holder" && !filler->held_as.empty()) {
    return fmt::format("Bound or empty {}; a larger limit only delays the next kill.",
                       printable(filler->held_as, kMaxName));
  }
  const IncidentFiller* own = is_of_platform(*filler) ? own_class(incident) : nullptr;
  const bool may_be_few = own != nullptr && (own->runtime == kV8 || own->runtime == kPython);
  if (may_be_few && own->count < filler->count / 10) own = nullptr;
  return fmt::format("Find what keeps {}{}; a larger limit only delays the next kill.",
                     filler->kind == "holder" && filler->runtime != kV8 ? "that " + printable(filler->name, kMaxName)
                     : is_plain_object(*filler) && own == nullptr
                         ? "so many plain objects"
                         : "so many " + printable(own != nullptr ? own->name : filler->name, kMaxName),
                     tool_text(*filler));
}

}  // namespace oomw
