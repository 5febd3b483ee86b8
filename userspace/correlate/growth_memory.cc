// SPDX-License-Identifier: Apache-2.0
#include "correlate/growth_memory.h"

#include <algorithm>

#include "base/text.h"
#include "facts/growth_place.h"
#include "incident/growth_pattern.h"

namespace oomw {
namespace {

std::uint64_t size_of(const GrowthProfile& profile) {
  std::uint64_t bytes = sizeof profile;
  for (const GrowthStack& stack : profile.stacks) {
    bytes += sizeof stack + stack.parts.size() * sizeof stack.parts[0];
    for (const GrowthFrame& frame : stack.frames) {
      bytes += sizeof frame + frame.function.size() + frame.file.size() + frame.module.size();
      for (const std::string& name : frame.uses) bytes += sizeof name + name.size();
    }
  }
  for (const std::string& note : profile.notes) bytes += sizeof note + note.size();
  for (const auto& [module, build] : profile.builds)
    bytes += sizeof module + module.size() + sizeof build + build.size();
  return bytes;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

std::string operation_of(const GrowthPlace& place) { return place.operation ? place.operation->name : ""; }

std::string kind_of(const GrowthPlace& place) { return place.operation ? place.operation->kind : ""; }

// Stacks that differ by a line, or below the program's own code, are one place: that of the largest.
struct KnownPlace {
  GrowthPlace place;
  std::uint64_t bytes = 0, late_bytes = 0;
  std::vector<std::uint64_t> parts = {};

  void add(const GrowthStack& stack) {
    bytes += stack.bytes;
    late_bytes += stack.late_bytes;
    const std::size_t count = std::min(stack.parts.size(), IncidentGrowth::kParts);
    parts.resize(std::max(parts.size(), count));
    for (std::size_t i = 0; i < count; ++i) parts[i] += stack.parts[i];
  }
};

KnownPlace& known(std::vector<KnownPlace>& places, const GrowthPlace& place) {
  const auto file_of = [](const GrowthPlace& one) { return one.code.substr(0, one.code.rfind(':')); };
  const auto found = std::ranges::find_if(places, [&](const KnownPlace& one) {
    return one.place.function == place.function && file_of(one.place) == file_of(place) &&
           one.place.operation == place.operation && one.place.is_collector == place.is_collector;
  });
  if (found == places.end()) return places.emplace_back(KnownPlace{place});
  found->place.uses.insert(place.uses.begin(), place.uses.end());
  return *found;
}

IncidentGrowth::Stack stack_of(const GrowthStack& from, const GrowthPlace& place, std::uint64_t grown_bytes) {
  IncidentGrowth::Stack stack;
  stack.bytes = from.bytes;
  stack.share = share_of(from.bytes, grown_bytes);
  stack.late_bytes = from.late_bytes;
  stack.is_complete = from.is_complete && from.frames.size() <= IncidentGrowth::kMaxFrames;
  for (const GrowthFrame& frame : from.frames) {
    if (stack.frames.size() == IncidentGrowth::kMaxFrames) break;
    stack.frames.push_back(text_of(frame));
  }
  stack.code = place.code;
  stack.operation = operation_of(place);
  stack.operation_kind = kind_of(place);
  return stack;
}

// Whose code a collector's threads grow for changes with the time, so they have no pattern.
std::string pattern_text(const KnownPlace& one, const GrowthProfile& profile) {
  const auto pattern = pattern_of(one.parts, profile.slot_bytes, static_cast<double>(profile.sampled_ms) / 1e3);
  return pattern && !one.place.is_collector ? std::string(to_string(*pattern)) : "";
}

std::vector<IncidentGrowth::Place> places_of(std::vector<KnownPlace> known, const GrowthProfile& profile) {
  std::ranges::stable_sort(known, std::greater<>(), &KnownPlace::bytes);
  std::vector<IncidentGrowth::Place> places;
  for (const KnownPlace& one : known) {
    if (places.size() == IncidentGrowth::kMaxPlaces) break;
    const auto build = profile.builds.find(one.place.module);
    places.push_back({one.place.code, operation_of(one.place), kind_of(one.place), one.bytes,
                      share_of(one.bytes, profile.grown_bytes), one.place.is_collector,
                      build == profile.builds.end() ? "" : printable(build->second, GrowthProfile::kMaxText),
                      one.place.uses, one.place.callers, one.parts, pattern_text(one, profile), one.late_bytes});
  }
  return places;
}

}  // namespace

void GrowthMemory::erase(std::size_t at) {
  bytes_ -= size_of(profiles_[at].profile);
  profiles_.erase(profiles_.begin() + static_cast<std::ptrdiff_t>(at));
}

void GrowthMemory::add(const GrowthProfile& profile) {
  std::optional<MonotonicTime> ended;
  const auto known =
      std::ranges::find(profiles_, profile.process, [](const Kept& kept) { return kept.profile.process; });
  if (known != profiles_.end()) {
    if (known->profile.time > profile.time) return;
    ended = known->ended;
    erase(static_cast<std::size_t>(known - profiles_.begin()));
  }
  bytes_ += size_of(profile);
  profiles_.push_back({profile, ended});
  while (profiles_.size() > 1 && (profiles_.size() > kMaxProcesses || bytes_ > kMaxBytes)) erase(0);
}

void GrowthMemory::on_exit(ProcessKey process, MonotonicTime at) {
  for (std::size_t i = profiles_.size(); i-- > 0;) {
    Kept& kept = profiles_[i];
    if (kept.profile.process == process && !kept.ended) kept.ended = at;
    if (kept.ended && at - *kept.ended > kKeptAfterEnd) erase(i);
  }
}

const GrowthProfile* GrowthMemory::of(ProcessKey process, MonotonicTime until) const {
  const auto found = std::ranges::find_if(profiles_, [&](const Kept& kept) {
    const GrowthProfile& profile = kept.profile;
    return profile.process.pid == process.pid &&
           (process.start_ticks == 0 || profile.process.start_ticks == process.start_ticks) && profile.started <= until;
  });
  return found == profiles_.end() ? nullptr : &found->profile;
}

IncidentGrowth growth_of(const GrowthProfile& profile, std::int64_t wall_offset_ns, const OperationPatterns& patterns) {
  IncidentGrowth growth;
  growth.pid = profile.process.pid;
  growth.as_of = {profile.time.ns + wall_offset_ns};
  growth.slot_bytes = profile.slot_bytes;
  growth.grown_bytes = profile.grown_bytes;
  growth.samples = profile.samples;
  growth.lost = profile.lost;
  if (profile.sampled_ms > 0) growth.sampled_seconds = static_cast<double>(profile.sampled_ms) / 1e3;
  std::vector<KnownPlace> places;
  for (std::size_t i = 0; i < std::min(profile.stacks.size(), GrowthProfile::kMaxStacks); ++i) {
    const GrowthStack& stack = profile.stacks[i];
    KnownPlace& place = known(places, place_of(stack, patterns));
    place.add(stack);
    growth.late_bytes += stack.late_bytes;
    if (i < IncidentGrowth::kMaxStacks) growth.stacks.push_back(stack_of(stack, place.place, profile.grown_bytes));
  }
  growth.places = places_of(std::move(places), profile);
  for (const std::string& note : profile.notes) {
    if (growth.notes.size() == GrowthProfile::kMaxNotes) break;
    growth.notes.push_back(printable(note, GrowthProfile::kMaxText));
  }
  if (!profile.spool_file.empty()) growth.file = kGrowthFile, growth.spool_file = profile.spool_file;
  return growth;
}

}  // namespace oomw
