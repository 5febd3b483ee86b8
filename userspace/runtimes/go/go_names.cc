// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/go_names.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/text.h"
#include "memory/deadline_source.h"
#include "runtimes/go/symbolizer.h"

namespace oomw::go {
namespace {

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

bool has_amount(const HeapHolding& holding) {
  return holding.allocated != HeapAmount{} || holding.held != HeapAmount{};
}

// Fills one Profile; ids are positions plus one.
class Builder {
 public:
  // table: null without names.
  Builder(pprof::Profile& profile, const FrameTable* table) : profile_(profile), table_(table) {}

  void add_all(const HeapReading& reading) {
    profile_.samples.reserve(reading.holdings.size());
    for (const HeapHolding& holding : reading.holdings) {
      if (has_amount(holding)) add(reading, holding);
    }
  }

 private:
  void add(const HeapReading& reading, const HeapHolding& holding) {
    const auto allocated = unsample(holding.allocated, reading.rate);
    const auto in_use = unsample(holding.held, reading.rate);
    pprof::Sample& sample = profile_.samples.emplace_back();
    sample.values = {allocated.objects, allocated.bytes, in_use.objects, in_use.bytes};
    if (holding.allocated.objects > 0 && holding.block_bytes > 0) {
      sample.labels.resize(1);
      sample.labels[0].key = "bytes";
      sample.labels[0].number = static_cast<std::int64_t>(holding.block_bytes);
    }
    add_stack(sample, reading.pcs_of(holding), reading.load_bias);
  }

  void add_stack(pprof::Sample& sample, std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
    if (table_ == nullptr) {
      sample.location_ids.reserve(pcs.size());
      for (const std::uint64_t pc : pcs) sample.location_ids.push_back(location({pc, 0, 0}));
      return;
    }
    const auto frames = table_->stack(pcs, load_bias);
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
      const std::string& name = table_->text(frame.function);
      profile_.functions.push_back({it->second, name, name, table_->text(frame.file), 0});
    }
    return it->second;
  }

  std::uint64_t location(const LocationKey& key) {
    const auto [it, is_new] = locations_.try_emplace(key, profile_.locations.size() + 1);
    if (is_new) {
      // As in runtime/pprof: the call, not the address it returns to.
      pprof::Location& location = profile_.locations.emplace_back();
      location.id = it->second;
      location.mapping_id = 1;
      location.address = key.pc - 1;
      if (key.function_id != 0) location.lines.push_back({key.function_id, key.line});
    }
    return it->second;
  }

  pprof::Profile& profile_;
  const FrameTable* table_;
  std::unordered_map<std::uint64_t, std::uint64_t> functions_;
  std::unordered_map<LocationKey, std::uint64_t, LocationHash> locations_;
};

// Go links position-independent programs from address 0 and at file offset 0.
pprof::Mapping mapping_of(std::uint64_t load_bias, const GoBinary& binary, const ExeHandle* exe, bool is_symbolized) {
  pprof::Mapping mapping;
  mapping.id = 1;
  mapping.memory_start = binary.is_position_independent ? load_bias : binary.text.begin;
  mapping.memory_limit = load_bias + binary.text.end;
  mapping.filename = exe != nullptr ? printable(exe->path(), kMaxPathChars) : "";
  mapping.build_id = binary.build_id;
  mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = mapping.has_inline_frames = is_symbolized;
  return mapping;
}

}  // namespace

GoNames::GoNames(std::shared_ptr<const ExeHandle> exe, std::shared_ptr<const GoBinary> binary,
                 ProgramInspector* inspector, std::vector<std::string> owners, const Clock& clock,
                 MonotonicTime deadline)
    : exe_(std::move(exe)),
      binary_(std::move(binary)),
      inspector_(inspector),
      owners_(std::move(owners)),
      clock_(clock),
      deadline_(deadline),
      why_not_(exe_ ? "" : "the executable is not held open") {}

Result<NamedFrames> GoNames::ask() const {
  if (inspector_ != nullptr) return inspector_->name_frames(exe_->fd(), table_.wanted(), deadline_, owners_);
  const FdSource file(exe_->fd());
  return name_frames(DeadlineSource(file, clock_, deadline_), table_.wanted());
}

void GoNames::want(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
  if (why_not_.empty()) table_.want(pcs, load_bias);
}

void GoNames::look_up() {
  const bool is_over = !why_not_.empty() || (is_open_ && table_.wanted().empty());
  if (is_over) return;
  const auto named = ask();
  if (named.has_value()) {
    table_.add(*named);
    is_open_ = true;
  } else {
    why_not_ = named.error().message;
  }
}

void GoNames::prepare(std::span<const std::vector<std::uint64_t>> stacks) {
  for (const std::vector<std::uint64_t>& pcs : stacks) want(pcs, 0);
  if (!table_.wanted().empty()) look_up();
}

std::vector<std::string> GoNames::lines_of(std::span<const std::uint64_t> pcs) {
  want(pcs, 0);
  look_up();
  std::vector<std::string> lines;
  if (!has_names()) {
    for (const std::uint64_t pc : pcs) lines.push_back(fmt::format("{:#x}", pc));
    return lines;
  }
  for (const Frame& frame : table_.stack(pcs, 0)) {
    lines.push_back(frame.is_known ? fmt::format("{} {}:{}", printable(table_.text(frame.function)),
                                                 printable(table_.text(frame.file)), frame.line)
                                   : fmt::format("{:#x}", frame.pc));
  }
  return lines;
}

pprof::Profile GoNames::profile_of(const HeapReading& reading, WallTime taken, std::vector<std::string> comments) {
  const std::uint64_t unknown_before = table_.unknown_frames();
  for (const HeapHolding& holding : reading.holdings) {
    if (has_amount(holding)) want(reading.pcs_of(holding), reading.load_bias);
  }
  look_up();
  pprof::Profile profile;
  profile.sample_types = {
      {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  profile.default_sample_type = "inuse_space";
  profile.period_type = {"space", "bytes"};
  profile.period = reading.rate;
  profile.time_nanos = taken.ns;
  profile.mappings = {mapping_of(reading.load_bias, *binary_, exe_.get(), has_names())};
  profile.comments = std::move(comments);
  if (!has_names()) profile.comments.push_back("oomwitness: addresses without names: " + printable(why_not_));
  profile.comments.insert(profile.comments.end(), reading.facts.begin(), reading.facts.end());
  Builder(profile, has_names() ? &table_ : nullptr).add_all(reading);
  const std::uint64_t unknown = has_names() ? table_.unknown_frames() - unknown_before : 0;
  if (unknown > 0) profile.comments.push_back(fmt::format("oomwitness: {} frames without a name", unknown));
  return profile;
}

}  // namespace oomw::go
