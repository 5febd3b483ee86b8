// SPDX-License-Identifier: Apache-2.0
#include "verdict/growth_answer.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "incident/growth_pattern.h"
#include "verdict/filler_answer.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

using Place = IncidentGrowth::Place;

double collectors_share(const IncidentGrowth& growth) {
  double share = 0;
  for (const Place& place : growth.places) share += place.is_collector ? place.share : 0;
  return share;
}

// Samples that were not taken or could not be read may all be of another place. `most`: a share of all.
bool is_lost_at_most(const IncidentGrowth& growth, double most) {
  const double all = static_cast<double>(growth.samples) + static_cast<double>(growth.lost);
  return all > 0 && static_cast<double>(growth.lost) <= most * all;
}

// So much may be lost where code is said to have touched most first, and no more: what nobody is known for is in none
// of the places, so it is as if all of it were of others. Who is said to have grown what fills the memory is judged
// with less lost: where memory was given back and taken again, a lost sample leaves another's place as it was.
constexpr double kLostOfTouched = threshold::kLarge, kLostOfGrown = threshold::kMaterial;

bool is_trusted(const IncidentGrowth& growth, double most_lost) {
  return collectors_share(growth) < threshold::kLarge && is_lost_at_most(growth, most_lost);
}

// The place with most of the growth, if the profile can be trusted that far.
const Place* leading(const IncidentGrowth& growth, double most_lost) {
  if (!is_trusted(growth, most_lost)) return nullptr;
  const auto found = std::ranges::find_if(
      growth.places, [](const Place& place) { return !place.is_collector && !place.code.empty(); });
  return found == growth.places.end() || found->share < threshold::kMost ? nullptr : &*found;
}

// "app" of "`REQUEST_LOG` in module `app`"; "" = it names no module.
std::string_view module_of(std::string_view held_as) {
  constexpr std::string_view kBefore = "in module `";
  const std::size_t at = held_as.rfind(kBefore);
  if (at == std::string_view::npos) return "";
  held_as.remove_prefix(at + kBefore.size());
  return held_as.substr(0, held_as.find('`'));
}

// The script of "python3 -u /srv/app.py --port 80", which is module `__main__`; "" = not known.
std::string main_file_of(const Incident& incident) {
  if (incident.victims.empty()) return "";
  std::string_view rest = incident.victims.front().cmdline;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word.ends_with(".py")) return std::string(base_name(word));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return "";
}

// "views.py" of `shop.views`, also where many packages have such a file.
std::string any_file_of_module(const Incident& incident, std::string_view module) {
  if (module == "__main__") return main_file_of(incident);
  return module.empty() ? "" : std::string(module.substr(module.rfind('.') + 1)) + ".py";
}

// "REQUEST_LOG" of "`REQUEST_LOG` in module `app`" and of "inside `REQUEST_LOG` in module `app`"; "" = none.
std::string name_of(std::string_view held_as) {
  const std::size_t begin = held_as.find('`');
  const std::size_t end = begin == std::string_view::npos ? begin : held_as.find('`', begin + 1);
  return end == std::string_view::npos ? "" : std::string(held_as.substr(begin + 1, end - begin - 1));
}

// "app.py" of module `app`, "views.py" of `shop.views`.
std::string file_of_module(const Incident& incident, std::string_view module) {
  if (module == "__main__") return main_file_of(incident);
  if (module.empty()) return "";
  const std::string_view name = module.substr(module.rfind('.') + 1);
  // A frame has its file's last part only, and many packages of one program have files of these names.
  constexpr std::array<std::string_view, 12> kCommon = {"views", "models", "utils",    "tasks", "api",  "app",
                                                        "main",  "routes", "handlers", "base",  "core", "services"};
  if (name.size() != module.size() && std::ranges::find(kCommon, name) != kCommon.end()) return "";
  return std::string(name) + ".py";
}

bool is_of(const IncidentGrowth::Stack& stack, const Place& place) {
  return stack.code == place.code && stack.operation == place.operation;
}

// Flask's own file is called as many a program's is.
bool is_of_flask(std::string_view frame) {
  constexpr std::array<std::string_view, 6> kStarts = {"Flask.",     "wsgi_app (",           "full_dispatch_request (",
                                                       "__call__ (", "preprocess_request (", "dispatch_request ("};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return frame.starts_with(start); });
}

// Whether a frame of a place without an operation contains the text.
bool passes_through(const IncidentGrowth& growth, const Place& place, const std::string& text) {
  const auto contains = [&](const std::string& frame) {
    return !is_of_flask(frame) && frame.find(text) != std::string::npos;
  };
  return std::ranges::any_of(growth.stacks, [&](const IncidentGrowth::Stack& stack) {
    return is_of(stack, place) && std::ranges::any_of(stack.frames, contains);
  });
}

// Of a request's or job's code its own reference to the holder tells (user_of_holder): a service may be one file.
bool agrees(const Incident& incident, const IncidentFiller& filler, const Place& place) {
  const IncidentGrowth& growth = *incident.growth;
  const std::string file = file_of_module(incident, module_of(filler.held_as));
  if (!file.empty()) return place.operation.empty() && passes_through(growth, place, " (" + file + ":");
  // C++ only: a class that a vtable names. What a Python type is called says nothing about whose it is.
  const bool is_class = filler.kind == "type" && filler.runtime == "native" && filler.name.size() > 2;
  return is_class && place.code.starts_with(filler.name + "::");
}

std::string for_operation(const std::string& kind, const std::string& operation, const std::string& code) {
  if (operation.empty()) return "";
  if (code.starts_with(operation + " (")) return " (" + kind + " handler)";
  return fmt::format(" for {} {}", printable(kind, 32), printable(operation, kMaxAnswerName));
}

std::string amount(const Place& place) {
  return fmt::format("{:.0f} % of the growth, {}", place.share * 100, human_bytes(place.bytes));
}

// "Arena::allocate" of "Arena::allocate (shop)"; an address without the texts behind it.
std::string function_of(const std::string& frame) {
  return printable(frame.substr(0, std::min(frame.find(" ("), frame.find(", which"))), kMaxAnswerName);
}

// "shop!fn_1ab0", "shop+0x1ab0": no symbol names it.
bool is_address(const std::string& function) {
  return function.find("!fn_") != std::string::npos || function.find("+0x") != std::string::npos;
}

std::string callers_text(const Place& place) {
  return place.callers.empty() ? "" : fmt::format(", called by {}", fmt::join(place.callers, " and "));
}

// When the growth came says nothing of whose it is: it adds to what is said, and names nobody.
std::string came_once(const Place& place) {
  return place.pattern == to_string(GrowthPattern::kOneOff) ? "; it came once" : "";
}

std::string over_time(const Place& place) {
  return place.pattern == to_string(GrowthPattern::kPersistent) ? "; it kept growing" : came_once(place);
}

// Of the endpoints and jobs whose code refers to the holder by its name, the one with most of the growth. What others
// touched first, be it more, was not put there: it is their temporary data.
const Place* user_of_holder(const Incident& incident, const IncidentFiller& filler) {
  const IncidentGrowth& growth = *incident.growth;
  const std::pair use{name_of(filler.held_as), any_file_of_module(incident, module_of(filler.held_as))};
  if (!is_trusted(growth, kLostOfGrown) || filler.share < threshold::kMost || use.first.empty() || use.second.empty())
    return nullptr;
  const Place* most = nullptr;
  double all = 0;
  for (const Place& place : growth.places) {
    if (place.operation.empty() || place.code.empty() || !place.uses.contains(use)) continue;
    all += place.share;
    if (most == nullptr || place.share > most->share) most = &place;
  }
  const bool is_most = most != nullptr && most->share >= threshold::kMaterial && most->share >= threshold::kMost * all;
  return is_most ? most : nullptr;
}

// Samples may cover little of a long climb, so what is free must be much of the whole memory, too.
bool is_free_again(const Incident& incident) {
  if (!incident.composition || incident.growth->grown_bytes == 0) return false;
  double bytes = 0, whole = 0;
  for (const MemoryShare& part : incident.composition->parts) {
    whole += static_cast<double>(part.bytes);
    if (part.name == "malloc: free") bytes += static_cast<double>(part.bytes);
  }
  return bytes >= threshold::kLarge * whole &&
         bytes >= threshold::kMost * static_cast<double>(incident.growth->grown_bytes);
}

// Functions with a name, from the innermost on, that are not the C library's nor what all allocate through.
std::vector<std::string> runtime_functions(const IncidentGrowth::Stack& stack) {
  constexpr std::array<std::string_view, 6> kAllocators = {"malloc",     "calloc",      "realloc",
                                                           "os::malloc", "os::realloc", "operator new"};
  std::vector<std::string> found;
  for (const std::string& frame : stack.frames) {
    const std::string name = function_of(frame);
    const bool is_named = !name.empty() && name.front() != '[' && !is_address(name);
    if (is_named && frame.find(" (libc.") == std::string::npos &&
        std::ranges::find(kAllocators, name) == kAllocators.end()) {
      found.push_back(frame);
    }
  }
  return found;
}

// Where malloc's blocks fill a runtime's program, and none of its own code is in the stacks: for which of the runtime's
// functions that was. "" = for no one of them most.
std::string runtime_code_text(const Incident& incident) {
  const IncidentGrowth& growth = *incident.growth;
  if (!fills_malloc(incident)) return "";
  std::map<std::string, std::uint64_t> bytes_of;
  std::map<std::string, std::string> caller_of;
  for (const IncidentGrowth::Stack& stack : growth.stacks) {
    const std::vector<std::string> functions = runtime_functions(stack);
    if (!stack.code.empty() || functions.empty()) continue;
    bytes_of[functions.front()] += stack.bytes;
    if (functions.size() > 1) caller_of.emplace(functions.front(), function_of(functions[1]));
  }
  const auto most = std::ranges::max_element(bytes_of, {}, [](const auto& one) { return one.second; });
  if (most == bytes_of.end()) return "";
  const double share =
      static_cast<double>(most->second) / static_cast<double>(std::max<std::uint64_t>(growth.grown_bytes, 1));
  if (share < threshold::kMost) return "";
  const auto caller = caller_of.find(most->first);
  return fmt::format(
      " Its growth was first touched mostly in {}{} ({:.0f} % of the growth, {}), which is the runtime's own code: "
      "none of the program's is in those stacks.",
      printable(most->first, kMaxAnswerName), caller == caller_of.end() ? "" : ", called by " + caller->second,
      share * 100, human_bytes(most->second));
}

// Most of its memory hangs on a name. What a request touched first beside it is as a rule another one's: pages that
// were given back are handed out again.
bool has_named_keeper(const Incident& incident) {
  const IncidentFiller* filler = named_filler(incident);
  return filler != nullptr && filler->kind == "holder" && !name_of(filler->held_as).empty() &&
         filler->share >= threshold::kMost;
}

// Of a climb that was hardly sampled, the rest may be anybody's.
const Place* touched(const Incident& incident) {
  const double whole = static_cast<double>(victims_anon_bytes(incident).value_or(0));
  const bool is_sampled = static_cast<double>(incident.growth->grown_bytes) >= threshold::kLarge * whole;
  return is_sampled ? leading(*incident.growth, kLostOfTouched) : nullptr;
}

// Why nobody is named as what grew the memory; "" where that would only add a wrong suspect. No endpoint: which one
// touched a page first does not show whose it is.
std::string unproved(const Incident& incident) {
  const IncidentGrowth& growth = *incident.growth;
  if (growth.samples + growth.lost == 0) return "";
  if (const double share = collectors_share(growth); share >= threshold::kLarge) {
    return fmt::format(
        " Who grew it is not known: {:.0f} % of the growth was first touched by threads of a garbage collector.",
        share * 100);
  }
  const std::string lost =
      is_lost_at_most(growth, kLostOfGrown)
          ? ""
          : fmt::format("{} of {} growth samples were lost", growth.lost, growth.samples + growth.lost);
  const Place* place = touched(incident);
  if (!lost.empty() && place == nullptr) return fmt::format(" Who grew it is not known: {}.", lost);
  if (is_free_again(incident)) {
    return " Who grew it is not named: most of what was touched first had been freed again when memory was read.";
  }
  if (place == nullptr) return runtime_code_text(incident);
  if (!place->operation.empty() && has_named_keeper(incident)) return "";
  return fmt::format(
      " Its growth was first touched mostly in {}{} ({}{}){}; that may be temporary data, so it does not show who "
      "keeps it.",
      printable(place->code, kMaxAnswerName), callers_text(*place), amount(*place), came_once(*place),
      lost.empty() ? "" : ", though " + lost);
}

}  // namespace

std::string touched_text(const Incident& incident) { return shows_code(incident) ? unproved(incident) : ""; }

bool same_code_went_on(const Incident& incident) {
  if (!incident.growth || is_free_again(incident) || !is_trusted(*incident.growth, kLostOfGrown)) return false;
  const IncidentGrowth& growth = *incident.growth;
  const auto has_most_of_end = [&](std::uint64_t late_bytes) {
    return late_bytes >= 2 * growth.slot_bytes &&
           static_cast<double>(late_bytes) >= threshold::kMost * static_cast<double>(growth.late_bytes);
  };
  return std::ranges::any_of(growth.places,
                             [&](const Place& place) {
                               return !place.code.empty() && !place.is_collector && place.share >= threshold::kMost &&
                                      has_most_of_end(place.late_bytes);
                             }) ||
         std::ranges::any_of(growth.stacks, [&](const IncidentGrowth::Stack& stack) {
           return stack.code.empty() && stack.share >= threshold::kLarge && has_most_of_end(stack.late_bytes);
         });
}

const Place* touched_most(const Incident& incident) {
  return incident.growth && !is_free_again(incident) ? touched(incident) : nullptr;
}

bool shows_code(const Incident& incident) { return touched_most(incident) != nullptr; }

std::string action_without_culprit(const Incident& incident) {
  const Place* place = touched_most(incident);
  if (place == nullptr) return "Raise no limit before the code is known: a larger one only delays the next kill.";
  return fmt::format("Look first at {}, and at what its callers keep; a larger limit only delays the next kill.",
                     function_of(place->code));
}

std::string mappings_action(const Incident& incident) {
  const Place* place = touched_most(incident);
  if (place == nullptr) return "Count goroutines and what cgo or mmap holds while it runs.";
  return fmt::format("See who maps what {} writes to, and whether each way out of it gives that back.",
                     function_of(place->code));
}

std::string not_known(const Incident& incident) {
  return shows_code(incident) ? "Who keeps it is not known" : "Which code it was is not known";
}

const Place* proved_grower(const Incident& incident) {
  if (!incident.growth || is_free_again(incident)) return nullptr;
  const IncidentFiller* filler = named_filler(incident);
  if (filler == nullptr) return nullptr;
  if (const Place* user = user_of_holder(incident, *filler)) return user;
  const Place* place = leading(*incident.growth, kLostOfGrown);
  return place != nullptr && agrees(incident, *filler, *place) ? place : nullptr;
}

AnswerCulprit with_growth(const Incident& incident, AnswerCulprit filler) {
  const Place* place = proved_grower(incident);
  if (place == nullptr) return filler;
  filler.path = {place->code.substr(0, place->code.find(" ("))};
  filler.operation_kind = place->operation_kind;
  filler.operation = place->operation;
  return filler;
}

std::optional<AnswerCulprit> growing_culprit(const Incident& incident) {
  const Place* place = proved_grower(incident);
  if (place == nullptr || named_filler(incident)->kind == "holder") return std::nullopt;
  AnswerCulprit culprit;
  culprit.claim = to_string(Claim::kGrows);
  culprit.code = place->code;
  culprit.path = {place->code.substr(0, place->code.find(" ("))};
  culprit.operation_kind = place->operation_kind;
  culprit.operation = place->operation;
  culprit.share = place->share;
  culprit.bytes = place->bytes;
  culprit.build_id = place->build_id;
  culprit.evidence = incident.growth->file.empty() ? "growth by first touch" : incident.growth->file;
  return culprit;
}

std::string grower_text(const Incident& incident, const AnswerCulprit& culprit) {
  const IncidentFiller* filler = named_filler(incident);
  const Place* place = proved_grower(incident);
  return fmt::format("{} grew it by {} ({:.0f} % of the growth{}){}{}", printable(culprit.code, kMaxAnswerName),
                     human_bytes(culprit.bytes.value_or(0)), culprit.share.value_or(0) * 100,
                     place == nullptr ? "" : over_time(*place),
                     for_operation(culprit.operation_kind, culprit.operation, culprit.code),
                     filler == nullptr ? "" : "; " + filler_text(incident));
}

std::string growth_text(const Incident& incident, const std::optional<AnswerCulprit>& culprit) {
  if (!incident.growth || (culprit && culprit->claim == to_string(Claim::kGrows))) return "";
  // A heap profile shows more than a first touch; who keeps the heap does not tell who allocates.
  const bool is_keeper = culprit && culprit->claim == to_string(Claim::kKeeps) && best_capture(incident) == nullptr;
  if (culprit && culprit->claim != to_string(Claim::kFills) && !is_keeper) return "";
  const Place* place = proved_grower(incident);
  if (place == nullptr) return unproved(incident);
  return fmt::format(" Grown by {}{} ({}{}).", printable(place->code, kMaxAnswerName),
                     for_operation(place->operation_kind, place->operation, place->code), amount(*place),
                     over_time(*place));
}

}  // namespace oomw
