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
#include "verdict/verdict_evidence.h"

namespace oomw {
namespace {

constexpr std::string_view kPython = "cpython";
constexpr std::string_view kInside = "inside ";  // a small container that has a name
constexpr std::string_view kV8 = "v8";           // its holders are the program's own classes
constexpr double kWorthSaying = 0.05;            // of the memory: less explains nothing

bool is_by_analysis(const IncidentFiller& filler) { return filler.evidence == "analysis"; }

// Of a literal: whose code made it its name does not show.
bool is_plain_object(const IncidentFiller& filler) {
  return filler.runtime == kV8 && filler.kind == "holder" && filler.name == "Object";
}

// Of V8 a holder is a container with the name that holds it, or all objects of a class with what only they hold.
bool is_class_with_held(const IncidentFiller& filler) {
  return filler.runtime == kV8 && filler.kind == "holder" && filler.held_as.empty();
}

// What is in a holder comes before what it consists of.
int rank_of(const IncidentFiller& filler) {
  if (filler.kind != "holder") return 2;
  return filler.held_as.empty() ? 1 : 0;
}

// "list of dict" -> "a list of 500000 dict"; "dict" of a type -> "500000 objects of type dict".
std::string what(const IncidentFiller& filler) {
  const std::string name = printable(filler.name, kMaxAnswerName);
  const std::string count = estimated_count_text(filler.count, filler.error_bytes);
  if (is_plain_object(filler)) return fmt::format("{} plain objects with what only they hold", count);
  if (is_class_with_held(filler)) {
    if (name.find('`') != std::string::npos) return fmt::format("{} {} with what only they hold", count, name);
    return fmt::format("{} `{}` objects with what only they hold", count, name);
  }
  if (filler.kind == "size") return fmt::format("{} {}", count, name);
  if (filler.kind != "holder") return fmt::format("{} objects of type {}", count, name);
  const std::size_t of = name.find(" of ");
  const std::string_view article = name.starts_with('a') || name.starts_with('o') ? "an" : "a";
  if (of == std::string::npos) return fmt::format("{} {} with {} entries", article, name, filler.count);
  const std::string entry = name.substr(of + 4);
  const std::string_view objects = entry == "bytes" ? " objects" : "";  // else it would be a size
  return fmt::format("{} {} of {} {}{}", article, name.substr(0, of), filler.count, entry, objects);
}

std::string held(const IncidentFiller& filler) {
  if (filler.held_as.starts_with(kInside)) return " held " + printable(filler.held_as, kMaxAnswerName);
  return filler.held_as.empty() ? "" : " held as " + printable(filler.held_as, kMaxAnswerName);
}

// What any Python program has: of which of its data they are their names do not show. Names come without their module,
// so classes of the standard library look like the program's.
bool is_plain_python(const IncidentFiller& filler) {
  constexpr std::array<std::string_view, 26> kPlain = {
      "str",       "bytes",          "bytearray", "int",        "float",     "complex",
      "bool",      "list",           "tuple",     "dict",       "set",       "cell",
      "object",    "type",           "frozenset", "memoryview", "code",      "function",
      "method",    "weakref",        "frame",     "module",     "generator", "builtin_function_or_method",
      "coroutine", "async_generator"};
  return filler.kind == "type" && (std::ranges::find(kPlain, filler.name) != kPlain.end() ||
                                   filler.name.starts_with("_asyncio.") || filler.name == "key tables of dicts");
}

// Classes of the language's own library, arrays and blocks of a size: whose code made them their names do not show.
bool is_of_platform(const IncidentFiller& filler) {
  const std::string_view name = filler.name;
  if (filler.runtime == kV8) return !is_class_with_held(filler) || is_plain_object(filler);
  if (filler.runtime == kPython) return is_plain_python(filler);
  if (filler.kind == "size") return true;
  return name.ends_with("[]") || is_of_jdk(name) || name.starts_with("std::") || name.starts_with("__gnu_cxx::");
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

// So few objects of a class do not explain the filler. One object may hold a dozen texts, a call that waits even more.
bool is_few(const IncidentFiller& own, const IncidentFiller& filler) {
  constexpr std::array<std::string_view, 5> kTexts = {"byte[]", "char[]", "java.lang.String", "str", "(string)"};
  const bool is_call = own.runtime == kPython && own.name.find(" of `") != std::string::npos;
  const bool is_text = std::ranges::find(kTexts, filler.name) != kTexts.end();
  return own.count < filler.count / (is_call ? 200 : is_text ? 32 : 10);
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

// What native code took from malloc, and of all memory, where a runtime's own objects are little beside it. Python
// takes its objects above 512 bytes from malloc, too.
struct NativeBlocks {
  std::uint64_t bytes;
  double share;
};
std::optional<NativeBlocks> native_blocks(const Incident& incident, const IncidentFiller& first) {
  if (!incident.composition || first.runtime == "native") return std::nullopt;
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
  if (share < threshold::kMost || !is_little) return std::nullopt;
  return NativeBlocks{blocks, share};
}

// What a program asked for that got such blocks: glibc's have 8 bytes of their own, and are multiples of 16.
std::string asked_for_text(const IncidentFiller& filler) {
  constexpr std::string_view kEnd = " B";
  constexpr std::uint64_t kLeast = 32, kMost = 128u << 10;  // larger ones have pages of their own
  std::string_view size = filler.name;
  if (filler.kind != "size" || !size.starts_with(kBlocksOfSize) || !size.ends_with(kEnd)) return "";
  size.remove_prefix(std::string_view(kBlocksOfSize).size());
  size.remove_suffix(kEnd.size());
  const std::uint64_t bytes = parse_u64(size).value_or(0);
  if (bytes < kLeast || bytes > kMost || bytes % 16 != 0) return "";
  return fmt::format(" (for {} to {} B)", bytes == kLeast ? 1 : bytes - 23, bytes - 8);
}

// How much memory its entries are is not known: a collection of a Java program, which counts them itself.
bool is_counted_only(const IncidentFiller& filler) {
  return filler.runtime == kJvm && filler.kind == "holder" && filler.bytes == 0 && !filler.held_as.empty();
}

// The one with most entries, if they are as many as a good part of the objects that fill the memory, or of the
// program's own class with most of them.
const IncidentFiller* counted_collection(const Incident& incident, const IncidentFiller& filler) {
  const auto found = std::ranges::find_if(incident.fillers, is_counted_only);
  if (filler.runtime != kJvm || found == incident.fillers.end()) return nullptr;
  const IncidentFiller* own = own_class(incident);
  const auto is_part_of = [&](const IncidentFiller& objects, double part) {
    return static_cast<double>(found->count) >= part * static_cast<double>(objects.count);
  };
  const bool is_of_many =
      is_part_of(filler, threshold::kLarge) || (own != nullptr && is_part_of(*own, threshold::kMost));
  return is_of_many ? &*found : nullptr;
}

std::string counted_collection_text(const Incident& incident, const IncidentFiller& filler) {
  const IncidentFiller* collection = counted_collection(incident, filler);
  if (collection == nullptr) return "";
  return fmt::format("; {}, a {}, has {} entries", printable(collection->held_as, kMaxAnswerName),
                     printable(collection->name, kMaxAnswerName), collection->count);
}

}  // namespace

// Arrays and classes of the library say little.
std::string own_class_text(const Incident& incident, const IncidentFiller& filler) {
  const IncidentFiller* own = is_of_platform(filler) ? own_class(incident) : nullptr;
  const std::string collection = counted_collection_text(incident, filler);
  const bool is_said = own != nullptr && filler.name.ends_with(" of " + own->name);
  if (own == nullptr || is_said || is_few(*own, filler)) return collection;
  return collection + fmt::format("; {} there were most of {}, {} objects",
                                  own->runtime == kPython ? "of other classes" : "of its own classes",
                                  printable(own->name, kMaxAnswerName),
                                  estimated_count_text(own->count, own->error_bytes));
}

std::string collection_text(const Incident& incident) {
  const auto found = std::ranges::find_if(incident.fillers, is_counted_only);
  if (found == incident.fillers.end()) return "";
  return fmt::format("{} entries in {}, a {}", found->count, printable(found->held_as, kMaxAnswerName),
                     printable(found->name, kMaxAnswerName));
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

// It begins with a number, an article or "about".
std::string filler_sentence(const Incident& incident) {
  std::string text = filler_text(incident) + ".";
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string no_filler_text(const Incident& incident) {
  const auto first = std::ranges::find_if(incident.fillers, is_by_analysis);
  if (first == incident.fillers.end()) return "";
  if (is_counted_only(*first)) return fmt::format("{}; it has {}.", not_known(incident), collection_text(incident));
  const std::string share = share_of(*first);
  if (first->kind == "size" && first->share >= threshold::kLarge) {
    return fmt::format("{}; {}{} are {} of its memory{}.", not_known(incident), what(*first), asked_for_text(*first),
                       share, own_class_text(incident, *first));
  }
  if (const auto blocks = native_blocks(incident, *first)) {
    return fmt::format(
        "{:.0f} % of its memory ({}{}) are blocks that native code took from malloc; its own objects are "
        "little beside them.",
        blocks->share * 100, human_bytes(blocks->bytes), age(incident, *first));
  }
  if (first->share < kWorthSaying) return "No single type or container filled much of its memory.";
  return fmt::format("No single type or container filled much of its memory; the most is {}{} with {}.", what(*first),
                     held(*first), share);
}

bool fills_malloc(const Incident& incident) {
  const auto first = std::ranges::find_if(incident.fillers, is_by_analysis);
  return first != incident.fillers.end() && named_filler(incident) == nullptr &&
         native_blocks(incident, *first).has_value();
}

std::string pools_text(const Incident& incident) {
  constexpr std::size_t kMaxTypes = 3;
  constexpr double kLeastShare = 0.1;
  const PoolsAtKill* counted = pools_at_kill(incident);
  if (counted == nullptr || counted->bytes == 0) return "";
  const std::uint64_t all = victims_anon_bytes(incident).value_or(0);
  if (static_cast<double>(counted->bytes) < threshold::kLarge * static_cast<double>(all)) return "";
  std::string types;
  for (std::size_t i = 0; i < std::min(kMaxTypes, counted->types.size()); ++i) {
    const PoolsAtKill::Type& type = counted->types[i];
    const double share = static_cast<double>(type.bytes) / static_cast<double>(counted->bytes);
    if (share < kLeastShare) break;
    types += fmt::format("{} {:.0f} %{} {}", i == 0 ? ", by an estimate" : ",", share * 100, i == 0 ? " of them" : "",
                         printable(type.name, kMaxAnswerName));
  }
  return fmt::format("At the kill {}{} were small objects{}.", counted->cut.empty() ? "" : "at least ",
                     human_bytes(counted->bytes), types);
}

const TrendSite* growing_name(const Incident& incident) {
  if (!incident.contents_trend) return nullptr;
  const IncidentTrend& trend = *incident.contents_trend;
  const double needed = threshold::kMost * held_gain(trend.whole);
  const TrendSite* best = nullptr;
  for (const TrendSite& site : trend.sites) {
    const double gained = held_gain(site.figures);
    if (site.frames.empty() || gained == 0 || gained < needed) continue;
    const auto rank = [&](const TrendSite& one) { return std::pair(told_by_name(one.frames), held_gain(one.figures)); };
    if (best == nullptr || rank(site) > rank(*best)) best = &site;
  }
  return best;
}

std::string name_and_holder(const TrendSite& site) {
  std::string text;
  for (const std::string& line : site.frames) text += (text.empty() ? "" : ", ") + printable(line, kMaxAnswerName);
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
    return fmt::format("Bound or empty {}{}; a larger limit only delays the next kill.",
                       filler->held_as.starts_with(kInside) ? "what is " : "",
                       printable(filler->held_as, kMaxAnswerName));
  }
  if (const IncidentFiller* collection = counted_collection(incident, *filler)) {
    return fmt::format("See why {} has so many entries; a larger limit only delays the next kill.",
                       printable(collection->held_as, kMaxAnswerName));
  }
  const IncidentFiller* own = is_of_platform(*filler) ? own_class(incident) : nullptr;
  const bool may_be_few = own != nullptr && (own->runtime == kV8 || own->runtime == kPython);
  if (may_be_few && is_few(*own, *filler)) own = nullptr;
  return fmt::format("Find what keeps {}{}; a larger limit only delays the next kill.",
                     filler->kind == "holder" && !is_class_with_held(*filler)
                         ? "that " + printable(filler->name, kMaxAnswerName)
                     : is_plain_object(*filler) && own == nullptr
                         ? "so many plain objects"
                         : "so many " + printable(own != nullptr ? own->name : filler->name, kMaxAnswerName),
                     tool_text(*filler));
}

}  // namespace oomw
