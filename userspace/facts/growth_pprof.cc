// SPDX-License-Identifier: Apache-2.0
#include "facts/growth_pprof.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/growth_place.h"
#include "facts/operation_profile.h"
#include "pprof/saturating.h"

namespace oomw {
namespace {

// Each mapped file, function and line once.
class Encoder {
 public:
  Encoder(const std::map<std::string, std::string>& builds, const OperationPatterns& patterns)
      : builds_(builds), patterns_(patterns) {}

  void add(const GrowthStack& stack) {
    pprof::Sample sample;
    const std::size_t count = std::min(stack.frames.size(), GrowthProfile::kMaxFrames);
    const auto end = stack.frames.begin() + static_cast<std::ptrdiff_t>(count);
    const auto caller = std::find_if(stack.frames.begin(), end, std::not_fn(&GrowthFrame::is_allocator));
    for (auto frame = caller == end ? stack.frames.begin() : caller; frame != end; ++frame) {
      sample.location_ids.push_back(location(*frame));
    }
    sample.values = {pprof::clamped(stack.bytes)};
    // What the frames in the file do not show any more: which of them are a library's.
    const GrowthPlace place = place_of(stack, patterns_);
    if (!place.code.empty()) sample.labels.push_back({kCodeLabel, place.code, 0, ""});
    has_own_code |= !place.code.empty();
    if (place.operation) {
      sample.labels.push_back({kOperationLabel, place.operation->kind + " " + place.operation->name, 0, ""});
    }
    profile.samples.push_back(std::move(sample));
  }

  pprof::Profile profile;
  bool has_own_code = false;

 private:
  std::uint64_t mapping(const GrowthFrame& frame) {
    if (frame.module.empty()) return 0;
    const auto [known, is_new] = mappings_.try_emplace(frame.module, mappings_.size() + 1);
    if (is_new) {
      pprof::Mapping mapping;
      mapping.id = known->second;
      mapping.filename = printable(frame.module, GrowthProfile::kMaxText);
      if (const auto build = builds_.find(frame.module); build != builds_.end()) mapping.build_id = build->second;
      mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;  // do not look for symbols
      profile.mappings.push_back(std::move(mapping));
    }
    // Whoever has the symbols of that build finds the name by the address.
    pprof::Mapping& mapping = profile.mappings[known->second - 1];
    if (!mapping.build_id.empty() && address_of(frame) != 0) {
      mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = false;
    }
    return known->second;
  }

  // 0x1ab0 of "libfoo.so!fn_1ab0", which is how a function without a name is called; 0: it has one.
  static std::uint64_t address_of(const GrowthFrame& frame) {
    constexpr std::string_view kMark = "!fn_";
    std::string_view rest = frame.function;
    if (!rest.starts_with(frame.module)) return 0;
    rest.remove_prefix(frame.module.size());
    return rest.starts_with(kMark) ? parse_u64(rest.substr(kMark.size()), 16).value_or(0) : 0;
  }

  std::uint64_t function(const GrowthFrame& frame) {
    const auto [known, is_new] = functions_.try_emplace({frame.function, frame.file}, functions_.size() + 1);
    if (is_new) {
      const std::string name = printable(frame.function, GrowthProfile::kMaxText);
      profile.functions.push_back({known->second, name, name, printable(frame.file, GrowthProfile::kMaxText), 0});
    }
    return known->second;
  }

  std::uint64_t location(const GrowthFrame& frame) {
    const std::uint64_t of = function(frame);
    const auto [known, is_new] = locations_.try_emplace({of, frame.line, frame.module}, locations_.size() + 1);
    if (is_new) {
      profile.locations.push_back(
          {known->second, mapping(frame), address_of(frame), {{of, pprof::clamped(frame.line)}}});
    }
    return known->second;
  }

  const std::map<std::string, std::string>& builds_;
  const OperationPatterns& patterns_;
  std::map<std::string, std::uint64_t> mappings_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, std::uint64_t> locations_;
};

}  // namespace

pprof::Profile to_pprof(const GrowthProfile& profile, WallTime time, const OperationPatterns& patterns) {
  Encoder encoder(profile.builds, patterns);
  for (std::size_t i = 0; i < std::min(profile.stacks.size(), GrowthProfile::kMaxStacks); ++i) {
    encoder.add(profile.stacks[i]);
  }
  pprof::Profile file = std::move(encoder.profile);
  file.sample_types = {{kGrowthType, "bytes"}};
  file.default_sample_type = kGrowthType;
  file.period_type = {kGrowthType, "bytes"};
  file.period = pprof::clamped(profile.slot_bytes);
  file.time_nanos = time.ns;
  file.duration_nanos = std::max<std::int64_t>((profile.time - profile.started).count(), 0);
  file.comments = {
      "growth by first touch: which code touched anonymous memory first that was not given back; neither who allocated "
      "nor who keeps it",
      fmt::format("oomwitness: pid={} grown_bytes={} samples={} lost={}", profile.process.pid, profile.grown_bytes,
                  profile.samples, profile.lost)};
  if (!encoder.has_own_code && !file.samples.empty()) {
    file.comments.push_back("no stack shows the program's own code");
  }
  for (std::size_t i = 0; i < std::min(profile.notes.size(), GrowthProfile::kMaxNotes); ++i) {
    file.comments.push_back(printable(profile.notes[i], GrowthProfile::kMaxText));
  }
  return file;
}

}  // namespace oomw
