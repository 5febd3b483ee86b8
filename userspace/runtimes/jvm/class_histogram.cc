// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/class_histogram.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

namespace oomw::jvm {
namespace {

constexpr std::size_t kWindow = 1u << 20, kHeadWindow = 4096;
constexpr std::size_t kMaxKlasses = 32'768;
constexpr std::uint64_t kLeastObject = 16;
constexpr double kMaxUnparsed = 0.02;
constexpr std::uint64_t kMaxMirrorWords = 100'000;
constexpr std::uint64_t kFewestRead = 8;  // of a sample: how much fewer differ says nothing about the others

struct KlassInfo {
  bool is_sound = false;
  bool is_mirror = false;  // java.lang.Class: with the static fields of its class
  std::int32_t layout = 0;
  std::uint64_t bytes = 0, count = 0;              // in spaces that stand for others
  std::uint64_t exact_bytes = 0, exact_count = 0;  // of a sample: large objects
  std::uint64_t here = 0;                          // bytes in the space at hand
  double squares = 0, products = 0;                // of its bytes in each space; with the space's bytes
  std::string name;
};

// One piece of the process's memory at a time; objects are looked at where they begin.
class Window {
 public:
  explicit Window(const FreshMemory& memory) : memory_(memory), bytes_(kWindow) {}

  // 0 behind `end`, and where nothing is.
  template <typename T>
  Result<T> get(std::uint64_t address) {
    T value{};
    if (address < begin_ || address + sizeof(T) > begin_ + size_) {
      begin_ = address;
      size_ = static_cast<std::size_t>(std::min<std::uint64_t>(most_, end_ > address ? end_ - address : 0));
      RETURN_IF_ERROR(memory_.read_present(address, std::span(bytes_).first(size_)));
      if (size_ < sizeof(T)) return value;
    }
    std::memcpy(&value, bytes_.data() + (address - begin_), sizeof(T));
    return value;
  }
  // most: bytes of one read.
  void begin_space(std::uint64_t end, std::size_t most) {
    end_ = end;
    most_ = most;
    begin_ = 0;
    size_ = 0;
  }

 private:
  const FreshMemory& memory_;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0, end_ = 0;
  std::size_t size_ = 0, most_ = kWindow;
};

// The spaces of a sample, without those of large objects.
struct SampledSpaces {
  SampledUnits units;
  std::uint64_t all_bytes = 0;  // of all of them
  SampledSum read;              // bytes of those that were read
};

class HistogramWalk {
 public:
  HistogramWalk(const Jvm& jvm, const FreshMemory& memory, NarrowEncoding encoding,
                const std::vector<AddressSpan>& gaps)
      : jvm_(jvm), window_(memory), encoding_(encoding), gaps_(gaps) {
    const auto size = jvm.number("java_lang_Class", "_oop_size_offset");
    if (size.has_value() && *size > 0 && *size < 4096) mirror_size_at_ = static_cast<std::uint32_t>(*size);
  }

  Result<> walk(const HeapSpace& space) {
    const AddressSpan objects = space.objects;
    const std::uint64_t heap_end = jvm_.heap_span().end;
    histogram.walked_bytes += objects.size();
    window_.begin_space(objects.end, space.may_reach_out() ? kHeadWindow : kWindow);
    is_exact_ = space.may_reach_out();
    std::uint64_t at = objects.begin;
    while (at + kLeastObject <= objects.end) {
      if (const AddressSpan* gap = gap_at(at)) {
        at = gap->end;
        continue;
      }
      ASSIGN_OR_RETURN(const std::uint64_t size, size_of_object(at));
      if (size != 0 && size <= (space.may_reach_out() ? heap_end : objects.end) - at) {
        count(size);
        if (size > objects.end - at) add_beyond(size - (objects.end - at));
        at += size;
        continue;
      }
      // Where a thread's buffer ends, objects begin again.
      const std::uint64_t next = next_gap_end(at, objects.end);
      histogram.unparsed_bytes += next - at;
      at = next;
    }
    end_space(static_cast<double>(objects.size()));
    return {};
  }

  // sampled: null where all spaces were walked, or as many as allowed.
  void finish(const SampledSpaces* sampled) {
    std::map<std::string, ClassShare> by_name;
    for (const auto& [narrow, klass] : klasses_) {
      if (klass.count + klass.exact_count == 0) continue;
      ClassShare& share = by_name[readable_class_name(klass.name)];
      if (sampled != nullptr) {
        add_estimate(share, klass, *sampled);
        continue;
      }
      share.bytes += klass.bytes + klass.exact_bytes;
      share.count += klass.count + klass.exact_count;
    }
    for (auto& [name, share] : by_name) {
      share.name = name;
      histogram.classes.push_back(std::move(share));
    }
    std::ranges::stable_sort(histogram.classes, std::greater<>(), &ClassShare::bytes);
    if (histogram.classes.size() > ClassHistogram::kMaxShown) histogram.classes.resize(ClassHistogram::kMaxShown);
  }

  ClassHistogram histogram;

 private:
  const AddressSpan* gap_at(std::uint64_t address) const {
    const auto found = std::ranges::lower_bound(gaps_, address, {}, &AddressSpan::begin);
    return found != gaps_.end() && found->begin == address && found->end > address ? &*found : nullptr;
  }
  std::uint64_t next_gap_end(std::uint64_t address, std::uint64_t end) const {
    auto gap = std::ranges::lower_bound(gaps_, address, {}, &AddressSpan::begin);
    if (gap != gaps_.begin() && std::prev(gap)->end > address) --gap;
    return gap == gaps_.end() ? end : std::min(gap->end, end);
  }

  // 0: there is no object.
  Result<std::uint64_t> size_of_object(std::uint64_t at) {
    ASSIGN_OR_RETURN(const auto narrow, window_.get<std::uint32_t>(at + 8));
    current_ = klass_of(narrow);
    if (current_ == nullptr || !current_->is_sound) return 0;
    const std::int32_t layout = current_->layout;
    if (layout < 0) {
      ASSIGN_OR_RETURN(const auto length, window_.get<std::uint32_t>(at + 12));
      const std::uint64_t header = (static_cast<std::uint32_t>(layout) >> 16) & 0xff, log2 = layout & 0xff;
      if (header < kLeastObject || log2 > 3 || length > 0x7fffffff) return 0;
      return (header + (std::uint64_t{length} << log2) + 7) / 8 * 8;
    }
    if (!current_->is_mirror || mirror_size_at_ == 0) return static_cast<std::uint64_t>(layout) & ~std::uint64_t{7};
    ASSIGN_OR_RETURN(const auto words, window_.get<std::uint32_t>(at + mirror_size_at_));
    return words < kLeastObject / 8 || words > kMaxMirrorWords ? 0 : std::uint64_t{words} * 8;
  }

  void count(std::uint64_t size) {
    ++histogram.objects;
    if (is_exact_) {
      current_->exact_bytes += size;
      ++current_->exact_count;
      return;
    }
    if (current_->here == 0) met_.push_back(current_);
    current_->here += size;
    current_->bytes += size;
    ++current_->count;
  }

  void end_space(double bytes) {
    for (KlassInfo* klass : met_) {
      const auto here = static_cast<double>(std::exchange(klass->here, 0));
      klass->squares += here * here;
      klass->products += here * bytes;
    }
    met_.clear();
  }

  // By the class's share of the bytes that were read, and its error by how much spaces differ from that. Classes of one
  // name may differ together, so their errors add up.
  static void add_estimate(ClassShare& share, const KlassInfo& klass, const SampledSpaces& sampled) {
    const double ratio = static_cast<double>(klass.bytes) / std::max(sampled.read.sum, 1.0);
    const double scale = static_cast<double>(sampled.all_bytes) / std::max(sampled.read.sum, 1.0);
    const double off = klass.squares - 2 * ratio * klass.products + ratio * ratio * sampled.read.squares;
    share.bytes += klass.exact_bytes + static_cast<std::uint64_t>(scale * static_cast<double>(klass.bytes));
    share.count += klass.exact_count + static_cast<std::uint64_t>(scale * static_cast<double>(klass.count));
    share.error_bytes = share.error_bytes.value_or(0) + estimate_of({0, std::max(off, 0.0)}, sampled.units).error;
  }

  // A large object lies in several spaces, of which only the first is walked.
  void add_beyond(std::uint64_t bytes) {
    histogram.walked_bytes += bytes;
    histogram.used_bytes += bytes;
  }

  KlassInfo* klass_of(std::uint32_t narrow) {
    if (narrow == 0) return nullptr;
    if (const auto found = klasses_.find(narrow); found != klasses_.end()) return &found->second;
    if (klasses_.size() == kMaxKlasses) return nullptr;
    KlassInfo& klass = klasses_[narrow];
    const std::uint64_t address = encoding_.base + (std::uint64_t{narrow} << encoding_.shift);
    const Result<std::int32_t> layout = jvm_.number(address, "Klass", "_layout_helper");
    if (!layout.has_value() || *layout == 0 || address % 8 != 0) return &klass;
    Result<std::string> name = jvm_.class_name(address);
    if (!name.has_value()) return &klass;
    klass.is_sound = *layout < 0 || *layout >= static_cast<std::int32_t>(kLeastObject);
    klass.is_mirror = *name == "java/lang/Class";
    klass.layout = *layout;
    klass.name = std::move(*name);
    return &klass;
  }

  const Jvm& jvm_;
  Window window_;
  const NarrowEncoding encoding_;
  const std::vector<AddressSpan>& gaps_;
  std::uint64_t mirror_size_at_ = 0;
  std::unordered_map<std::uint32_t, KlassInfo> klasses_;
  KlassInfo* current_ = nullptr;
  std::vector<KlassInfo*> met_;  // in the space at hand
  bool is_exact_ = false;
};

// Spaces evenly apart whose sizes together are allowed.
std::vector<HeapSpace> chosen(const std::vector<HeapSpace>& spaces, std::uint64_t used, std::uint64_t allowed) {
  if (used <= allowed) return spaces;
  std::vector<HeapSpace> few;
  const double share = static_cast<double>(allowed) / static_cast<double>(used);
  double due = 0;
  for (const HeapSpace& space : spaces) {
    due += share * static_cast<double>(space.objects.size());
    if (due < static_cast<double>(space.objects.size())) continue;
    due -= static_cast<double>(space.objects.size());
    few.push_back(space);
  }
  return few;
}

std::size_t normal_spaces(const std::vector<HeapSpace>& spaces) {
  return static_cast<std::size_t>(std::ranges::count(spaces, false, &HeapSpace::may_reach_out));
}

// Large objects with spaces of their own differ too much to stand for each other; only their heads are read.
std::vector<HeapSpace> sample_of(const std::vector<HeapSpace>& spaces, SampleRate rate, SampledSpaces& sampled) {
  std::vector<HeapSpace> few;
  SampleChoice choice(rate);
  for (const HeapSpace& space : spaces) {
    const bool stands_for_others = !space.may_reach_out();
    if (stands_for_others) {
      ++sampled.units.all;
      sampled.all_bytes += space.objects.size();
      if (!choice.takes_next()) continue;
      ++sampled.units.read;
      sampled.read.add(static_cast<double>(space.objects.size()));
    }
    few.push_back(space);
  }
  return few;
}

}  // namespace

Result<ClassHistogram> read_class_histogram(const Jvm& jvm, const FreshMemory& memory,
                                            const std::vector<HeapSpace>& spaces, const std::vector<AddressSpan>& gaps,
                                            const HistogramLimits& limits) {
  const auto encoding = jvm.class_encoding();
  if (!encoding) return fail(ErrorCode::kUnsupported, "the objects' headers have a layout that is not known");
  HistogramWalk walk(jvm, memory, *encoding, gaps);
  for (const HeapSpace& one : spaces) walk.histogram.used_bytes += one.objects.size();
  const std::uint64_t used = walk.histogram.used_bytes;
  const bool has_enough = normal_spaces(spaces) >= HistogramLimits::kFewestSpaces;
  if (!limits.rate.is_whole() && !has_enough) return fail(ErrorCode::kUnavailable, "too few spaces for a sample of it");
  SampleRate rate = limits.rate;
  if (used > limits.max_heap_bytes) {
    const auto needed = (used - 1) / std::max<std::uint64_t>(limits.max_heap_bytes, 1) + 1;
    rate.one_in = std::max(rate.one_in, static_cast<std::uint32_t>(std::min<std::uint64_t>(needed, 1u << 20)));
  }
  SampledSpaces sampled;
  const bool is_sample = has_enough && !rate.is_whole();
  const std::vector<HeapSpace> walked =
      is_sample ? sample_of(spaces, rate, sampled) : chosen(spaces, used, limits.max_heap_bytes);
  if (is_sample && sampled.units.read < kFewestRead) {
    return fail(ErrorCode::kUnavailable, "too few spaces for a sample of it");
  }
  for (const HeapSpace& one : walked) RETURN_IF_ERROR(walk.walk(one));
  const ClassHistogram& found = walk.histogram;
  if (found.objects == 0) return fail(ErrorCode::kUnavailable, "no part of the heap is small enough to be walked");
  if (static_cast<double>(found.unparsed_bytes) >= kMaxUnparsed * static_cast<double>(found.walked_bytes)) {
    return fail(ErrorCode::kInvalid, "objects moved while the heap was read");
  }
  walk.finish(is_sample ? &sampled : nullptr);
  return std::move(walk.histogram);
}

}  // namespace oomw::jvm
