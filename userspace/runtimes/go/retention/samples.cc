// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <unordered_map>

#include "runtimes/go/bucket_bytes.h"

namespace oomw::go::retention {

namespace {

constexpr std::size_t kMaxFinalizers = 64U << 10;

// The record of one special: {next, offset in the span, kind, what it is about}. The offset became a word in Go 1.23.
struct RawSpecial {
  std::uint64_t next;
  std::array<std::byte, 24> rest;
};

struct Special {
  std::uint64_t offset = 0, payload = 0;
  std::uint8_t kind = 0;
};

Special decode(const RawSpecial& raw, bool is_wide) {
  if (is_wide)
    return {value_at<std::uint64_t>(raw.rest, 0), value_at<std::uint64_t>(raw.rest, 16),
            value_at<std::uint8_t>(raw.rest, 8)};
  return {value_at<std::uint16_t>(raw.rest, 0), value_at<std::uint64_t>(raw.rest, 8),
          value_at<std::uint8_t>(raw.rest, 2)};
}

// The block size of a heap profile bucket; 0 if it is none.
std::uint64_t bucket_size(CachedReader& memory, std::uint64_t address,
                          std::unordered_map<std::uint64_t, std::uint64_t>& known) {
  const auto it = known.find(address);
  if (it != known.end()) return it->second;
  std::uint64_t size = 0;
  const auto header =
      address % 8 == 0 && address >= 0x10000 ? memory.get<BucketHeader>(address) : fail(ErrorCode::kInvalid, "");
  if (header.has_value() && is_plausible(*header) && header->type == kMemoryProfile && header->stack_depth > 0) {
    std::vector<std::uint64_t> pcs(header->stack_depth);
    const bool is_read =
        memory.read(address + sizeof(BucketHeader), std::as_writable_bytes(std::span(pcs))).has_value();
    if (is_read && bucket_hash(pcs, header->size) == header->hash) size = header->size;
  }
  if (known.size() < 100'000) known.emplace(address, size);
  return size;
}

class SpecialReader {
 public:
  SpecialReader(Image& image, const SpanTable& spans, CachedReader& memory, const SampleLimits& limits)
      : image_(image), spans_(spans), memory_(memory), limits_(limits) {}

  void read(Samples& samples) {
    for (std::uint32_t i = 0; i < spans_.spans().size(); ++i) {
      std::uint64_t next = spans_.span(i).specials;
      while (next != 0 && next % 8 == 0 && next >= 0x10000 && seen_++ < limits_.max_specials) {
        const auto raw = memory_.get<RawSpecial>(next);
        if (!raw.has_value()) return;
        take(i, *raw, samples);
        next = raw->next;
      }
      if (next != 0) samples.is_cut = true;
    }
  }

 private:
  void take(std::uint32_t index, const RawSpecial& raw, Samples& samples) {
    const Span& span = spans_.span(index);
    for (const bool is_wide : {true, false}) {
      const Special special = decode(raw, is_wide);
      const std::uint64_t slot = special.offset / span.slot_bytes;
      if (special.offset >= span.bytes() || slot >= span.slots || special.kind == 0 || special.kind > 16) continue;
      const std::uint64_t base = span.start + slot * span.slot_bytes;
      const std::uint64_t size = bucket_size(memory_, special.payload, sizes_);
      if (size == 0 && is_function_value(special.payload)) return take_finalizer({special.payload, base}, samples);
      if (size == 0 || size > span.slot_bytes || spans_.is_free(span, base)) continue;
      const auto bytes = static_cast<double>(size);
      samples.taken.push_back({base, index, bytes / (1 - std::exp(-bytes / limits_.rate_bytes))});
      return;
    }
  }

  // Kinds were renumbered in Go 1.23 and 1.26: a bucket proves itself by its hash, a function by its code.
  bool is_function_value(std::uint64_t address) {
    if (address % 8 != 0 || address < 0x10000) return false;
    const auto code = memory_.get<std::uint64_t>(address);
    return code.has_value() && image_.find_entry(*code) != nullptr;
  }

  static void take_finalizer(const Samples::Finalizer& finalizer, Samples& samples) {
    samples.is_cut = samples.is_cut || samples.finalizers.size() >= kMaxFinalizers;
    if (!samples.is_cut) samples.finalizers.push_back(finalizer);
  }

  Image& image_;
  const SpanTable& spans_;
  CachedReader& memory_;
  const SampleLimits& limits_;
  std::size_t seen_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> sizes_;
};

// Each live slot stands for the same number of bytes: a large one is chosen more often.
void choose_at_random(const SpanTable& spans, const SampleLimits& limits, Samples& samples) {
  constexpr std::size_t kRandomSamples = 300;
  std::vector<std::uint64_t> ends;
  std::uint64_t total = 0;
  for (const Span& span : spans.spans()) ends.push_back(total += span.slots * span.slot_bytes);
  std::mt19937_64 random(limits.seed);
  std::uniform_int_distribution<std::uint64_t> position(0, total - 1);
  std::size_t tries = 0;
  for (; tries < 4 * kRandomSamples && samples.taken.size() < kRandomSamples; ++tries) {
    const std::uint64_t x = position(random);
    const auto i = static_cast<std::uint32_t>(std::upper_bound(ends.begin(), ends.end(), x) - ends.begin());
    const Span& span = spans.span(i);
    const std::uint64_t offset = x - (ends[i] - span.slots * span.slot_bytes);
    const std::uint64_t base = span.start + offset / span.slot_bytes * span.slot_bytes;
    if (!spans.is_free(span, base)) samples.taken.push_back({base, i, 0});
  }
  for (Sample& s : samples.taken) s.weight_bytes = static_cast<double>(total) / static_cast<double>(tries);
}

}  // namespace

Result<Samples> take_samples(Image& image, const SpanTable& spans, CachedReader& memory, const SampleLimits& limits) {
  Samples samples;
  SpecialReader(image, spans, memory, limits).read(samples);
  samples.is_from_profile = samples.taken.size() >= limits.fewest_from_profile;
  if (!samples.is_from_profile) {
    samples.taken.clear();
    choose_at_random(spans, limits, samples);
  }
  if (samples.taken.size() > limits.max_samples) {
    std::mt19937_64 random(limits.seed);
    std::shuffle(samples.taken.begin(), samples.taken.end(), random);
    const double grow = static_cast<double>(samples.taken.size()) / static_cast<double>(limits.max_samples);
    samples.taken.resize(limits.max_samples);
    for (Sample& s : samples.taken) s.weight_bytes *= grow;
  }
  for (const Sample& s : samples.taken) samples.weight_bytes += s.weight_bytes;
  return samples;
}

}  // namespace oomw::go::retention
