// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/go_profile.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "base/text.h"

namespace oomw {
namespace {

using go::Bucket;
using go::Frame;
using go::HeapSnapshot;

constexpr std::size_t kMaxPathChars = 512;

struct LocationKey {
  std::uint64_t pc = 0, function_id = 0;
  std::int32_t line = 0;
  friend bool operator==(const LocationKey&, const LocationKey&) = default;
};
struct LocationHash {
  std::size_t operator()(const LocationKey& key) const noexcept {
    return (key.pc * 31 + key.function_id) * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(key.line);
  }
};

// Fills one Profile; ids are positions plus one.
class Builder {
 public:
  Builder(pprof::Profile& profile, go::Symbolizer* symbolizer) : profile_(profile), symbolizer_(symbolizer) {}

  void add_all(const HeapSnapshot& snapshot) {
    profile_.samples.reserve(snapshot.buckets.size());
    for (const Bucket& bucket : snapshot.buckets) {
      if (!bucket.held_now().is_zero()) add(snapshot, bucket);
    }
  }

 private:
  void add(const HeapSnapshot& snapshot, const Bucket& bucket) {
    const go::Counts counts = bucket.held_now();
    const auto allocated = unsample(go::allocated(counts), snapshot.rate);
    const auto in_use = unsample(go::in_use(counts), snapshot.rate);
    pprof::Sample& sample = profile_.samples.emplace_back();
    sample.values = {allocated.objects, allocated.bytes, in_use.objects, in_use.bytes};
    if (counts.allocs > 0 && bucket.size > 0) {
      sample.labels.resize(1);
      sample.labels[0].key = "bytes";
      sample.labels[0].number = static_cast<std::int64_t>(bucket.size);
    }
    add_stack(sample, snapshot.pcs_of(bucket), snapshot.load_bias);
  }

  void add_stack(pprof::Sample& sample, std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
    if (!symbolizer_) {
      sample.location_ids.reserve(pcs.size());
      for (const std::uint64_t pc : pcs) sample.location_ids.push_back(location({pc, 0, 0}));
      return;
    }
    const auto frames = symbolizer_->stack(pcs, load_bias);
    sample.location_ids.reserve(frames.size());
    for (const Frame& frame : frames) {
      const std::uint64_t id = frame.is_known ? function(frame) : 0;
      sample.location_ids.push_back(location({frame.pc, id, frame.line}));
    }
  }

  std::uint64_t function(const Frame& frame) {
    const std::uint64_t key = std::uint64_t{frame.function} << 32 | frame.file;
    const auto [it, is_new] = functions_.try_emplace(key, profile_.functions.size() + 1);
    if (is_new) {
      const std::string& name = symbolizer_->text(frame.function);
      profile_.functions.push_back({it->second, name, name, symbolizer_->text(frame.file), 0});
    }
    return it->second;
  }

  std::uint64_t location(const LocationKey& key) {
    const auto [it, is_new] = locations_.try_emplace(key, profile_.locations.size() + 1);
    if (is_new) {
      // As runtime/pprof: the call, not the address it returns to.
      pprof::Location& location = profile_.locations.emplace_back();
      location.id = it->second;
      location.mapping_id = 1;
      location.address = key.pc - 1;
      if (key.function_id != 0) location.lines.push_back({key.function_id, key.line});
    }
    return it->second;
  }

  pprof::Profile& profile_;
  go::Symbolizer* symbolizer_;
  std::unordered_map<std::uint64_t, std::uint64_t> functions_;
  std::unordered_map<LocationKey, std::uint64_t, LocationHash> locations_;
};

// Go links position-independent programs from address 0 and at file offset 0.
pprof::Mapping mapping_of(const HeapSnapshot& snapshot, const GoProfileContext& context, bool is_symbolized) {
  pprof::Mapping mapping;
  mapping.id = 1;
  const auto& binary = context.binary;
  mapping.memory_start = binary.is_position_independent ? snapshot.load_bias : binary.text.begin;
  mapping.memory_limit = snapshot.load_bias + binary.text.end;
  mapping.filename = printable(context.exe_path, kMaxPathChars);
  mapping.build_id = binary.build_id;
  mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = mapping.has_inline_frames = is_symbolized;
  return mapping;
}

void add_saturating(std::uint64_t& sum, std::int64_t bytes) {
  if (__builtin_add_overflow(sum, static_cast<std::uint64_t>(bytes), &sum)) {
    sum = std::numeric_limits<std::uint64_t>::max();
  }
}

std::string cycle_text(const HeapSnapshot& snapshot) {
  if (!snapshot.cycle) return "gc_cycle=unknown";
  return fmt::format("gc_cycle={} torn={} retries={}", snapshot.cycle->cycle(),
                     snapshot.cycle->is_torn() ? "yes" : "no", snapshot.cycle->retries);
}

}  // namespace

HeapTotals totals_of(const HeapSnapshot& snapshot) {
  HeapTotals totals;
  for (const Bucket& bucket : snapshot.buckets) {
    add_saturating(totals.held_bytes, unsample(in_use(bucket.held_now()), snapshot.rate).bytes);
    add_saturating(totals.live_bytes, unsample(in_use(bucket.live_at_last_gc()), snapshot.rate).bytes);
  }
  return totals;
}

std::vector<std::string> describe_snapshot(const HeapSnapshot& snapshot) {
  const HeapTotals totals = totals_of(snapshot);
  const auto& counts = snapshot.counts;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("oomwitness: go={} rate={}{} layout={} located_by={}",
                              snapshot.go_version.empty() ? "unknown" : printable(snapshot.go_version), snapshot.rate,
                              snapshot.is_rate_assumed ? " (assumed)" : "", to_string(snapshot.layout),
                              to_string(snapshot.method)));
  lines.push_back(fmt::format("oomwitness: series=held_now held_bytes={} live_at_last_gc_bytes={} {}",
                              totals.held_bytes, totals.live_bytes, cycle_text(snapshot)));
  lines.push_back(fmt::format("oomwitness: buckets={} walked={} clipped={} rejected={} torn={} complete={}",
                              snapshot.buckets.size(), counts.walked, counts.clipped,
                              counts.rejected_hash + counts.rejected_shape, counts.torn,
                              snapshot.complete ? "yes" : "no: " + printable(snapshot.reason)));
  return lines;
}

pprof::Profile build_profile(const HeapSnapshot& snapshot, go::Symbolizer* symbolizer,
                             const GoProfileContext& context) {
  pprof::Profile profile;
  profile.sample_types = {
      {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  profile.default_sample_type = "inuse_space";
  profile.period_type = {"space", "bytes"};
  profile.period = snapshot.rate;
  profile.time_nanos = context.taken.ns;
  profile.mappings = {mapping_of(snapshot, context, symbolizer != nullptr)};
  profile.comments = context.comments;
  for (auto& line : describe_snapshot(snapshot)) profile.comments.push_back(std::move(line));
  Builder(profile, symbolizer).add_all(snapshot);
  return profile;
}

}  // namespace oomw
