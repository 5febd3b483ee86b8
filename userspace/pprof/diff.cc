// SPDX-License-Identifier: Apache-2.0
#include "pprof/diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

constexpr const char* kBaseKey = "pprof::base";
constexpr const char* kBaseText = "true";

bool is_base_label(const Label& label) { return label.key == kBaseKey && label.text == kBaseText; }

auto key_of(const Label& label) { return std::tie(label.key, label.text, label.number, label.unit); }

bool is_zero(const Sample& sample) {
  return std::all_of(sample.values.begin(), sample.values.end(), [](std::int64_t value) { return value == 0; });
}

// Joins samples of several profiles into one. The items of each table are matched by their content, not by their ids.
class Joiner {
 public:
  explicit Joiner(Profile& out) : out_(out) {}

  void add(const Profile& profile, bool is_base) {
    enter(profile);
    // The first mapping is the main program: it must stay the first.
    if (out_.mappings.empty() && !profile.mappings.empty()) (void)mapping_of(profile.mappings.front().id);
    for (const auto& sample : profile.samples) {
      if (!is_zero(sample)) add(sample, is_base);
    }
  }

  void drop_zero_samples() { std::erase_if(out_.samples, is_zero); }

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string, std::int64_t>;
  using MappingKey = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  using LocationKey = std::tuple<std::uint64_t, std::uint64_t, std::vector<std::pair<std::uint64_t, std::int64_t>>>;
  using LabelKey = std::tuple<std::string, std::string, std::int64_t, std::string>;
  using SampleKey = std::pair<std::vector<std::uint64_t>, std::vector<LabelKey>>;
  struct MappingAt {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;  // add it to an address of the profile
  };
  template <typename Item>
  using ById = std::unordered_map<std::uint64_t, const Item*>;

  template <typename Item>
  static ById<Item> by_id(const std::vector<Item>& items) {
    ById<Item> out;
    for (const auto& item : items) out.emplace(item.id, &item);
    return out;
  }

  void enter(const Profile& profile) {
    source_functions_ = by_id(profile.functions);
    source_mappings_ = by_id(profile.mappings);
    source_locations_ = by_id(profile.locations);
    function_ids_.clear();
    mapping_ids_.clear();
    location_ids_.clear();
  }

  void add(const Sample& source, bool is_base) {
    Sample sample;
    for (const std::uint64_t id : source.location_ids) {
      if (const std::uint64_t joined = location_of(id); joined != 0) sample.location_ids.push_back(joined);
    }
    sample.labels = source.labels;
    if (is_base) sample.labels.push_back({kBaseKey, kBaseText, 0, ""});
    const auto [entry, is_new] = samples_.try_emplace(key_of_sample(sample), out_.samples.size());
    if (is_new) {
      sample.values.assign(source.values.size(), 0);
      out_.samples.push_back(std::move(sample));
    }
    add_values(out_.samples[entry->second].values, source.values, is_base);
  }

  static void add_values(std::vector<std::int64_t>& sums, const std::vector<std::int64_t>& values, bool is_negative) {
    for (std::size_t i = 0; i < std::min(sums.size(), values.size()); ++i) {
      sums[i] = saturating_add(sums[i], is_negative ? negated(values[i]) : values[i]);
    }
  }

  static SampleKey key_of_sample(const Sample& sample) {
    std::vector<LabelKey> labels;
    for (const auto& label : sample.labels) labels.emplace_back(key_of(label));
    std::sort(labels.begin(), labels.end());
    return {sample.location_ids, std::move(labels)};
  }

  // The joined id of the profile's function `id`; 0 = the profile has no such function.
  std::uint64_t function_of(std::uint64_t id) {
    const auto source = source_functions_.find(id);
    if (source == source_functions_.end()) return 0;
    const auto [known, is_first] = function_ids_.try_emplace(id, 0);
    if (!is_first) return known->second;
    const Function& f = *source->second;
    const auto [entry, is_new] =
        functions_.try_emplace(FunctionKey{f.name, f.system_name, f.filename, f.start_line}, out_.functions.size() + 1);
    if (is_new) {
      out_.functions.push_back(f);
      out_.functions.back().id = entry->second;
    }
    return known->second = entry->second;
  }

  MappingAt mapping_of(std::uint64_t id) {
    const auto source = source_mappings_.find(id);
    if (source == source_mappings_.end()) return {};
    const auto [known, is_first] = mapping_ids_.try_emplace(id);
    if (!is_first) return known->second;
    const Mapping& m = *source->second;
    constexpr std::uint64_t kPage = 4096;  // sizes may differ by less than a page
    const std::uint64_t size = (m.memory_limit - m.memory_start + kPage - 1) / kPage;
    const auto [entry, is_new] = mappings_.try_emplace(
        MappingKey{m.build_id.empty() ? m.filename : m.build_id, size, m.file_offset}, out_.mappings.size() + 1);
    if (is_new) {
      out_.mappings.push_back(m);
      out_.mappings.back().id = entry->second;
    }
    return known->second = {entry->second, out_.mappings[entry->second - 1].memory_start - m.memory_start};
  }

  std::uint64_t location_of(std::uint64_t id) {
    const auto source = source_locations_.find(id);
    if (source == source_locations_.end()) return 0;
    const auto [known, is_first] = location_ids_.try_emplace(id, 0);
    if (!is_first) return known->second;
    const MappingAt mapping = mapping_of(source->second->mapping_id);
    Location joined{0, mapping.id, source->second->address + mapping.offset, source->second->lines};
    std::vector<std::pair<std::uint64_t, std::int64_t>> lines;
    for (auto& line : joined.lines) {
      line.function_id = function_of(line.function_id);
      lines.emplace_back(line.function_id, line.line);
    }
    const auto [entry, is_new] =
        locations_.try_emplace(LocationKey{mapping.id, joined.address, std::move(lines)}, out_.locations.size() + 1);
    if (is_new) {
      joined.id = entry->second;
      out_.locations.push_back(std::move(joined));
    }
    return known->second = entry->second;
  }

  Profile& out_;
  std::map<FunctionKey, std::uint64_t> functions_;
  std::map<MappingKey, std::uint64_t> mappings_;
  std::map<LocationKey, std::uint64_t> locations_;
  std::map<SampleKey, std::size_t> samples_;
  // Of the profile that is being added.
  ById<Function> source_functions_;
  ById<Mapping> source_mappings_;
  ById<Location> source_locations_;
  std::unordered_map<std::uint64_t, std::uint64_t> function_ids_, location_ids_;
  std::unordered_map<std::uint64_t, MappingAt> mapping_ids_;
};

std::string name_of(const ValueType& type) { return printable(type.type, 64) + "/" + printable(type.unit, 32); }

std::string names_of(const std::vector<ValueType>& types) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(types.size(), 8); ++i) {
    text += (text.empty() ? "" : ", ") + name_of(types[i]);
  }
  return types.size() > 8 ? text + ", ..." : text;
}

// In the order of `after`.
std::vector<ValueType> common_types(const Profile& before, const Profile& after) {
  std::vector<ValueType> types;
  for (const ValueType& type : after.sample_types) {
    if (std::ranges::find(before.sample_types, type) != before.sample_types.end()) types.push_back(type);
  }
  return types;
}

// The profile has all of `types`.
Profile with_types(Profile profile, const std::vector<ValueType>& types) {
  std::vector<std::size_t> columns;
  for (const ValueType& type : types) {
    const auto found = std::ranges::find(profile.sample_types, type);
    columns.push_back(static_cast<std::size_t>(found - profile.sample_types.begin()));
  }
  for (Sample& sample : profile.samples) {
    std::vector<std::int64_t> values;
    for (const std::size_t column : columns)
      values.push_back(column < sample.values.size() ? sample.values[column] : 0);
    sample.values = std::move(values);
  }
  profile.sample_types = types;
  if (profile.type_index(profile.default_sample_type) < 0) profile.default_sample_type.clear();
  return profile;
}

// The diff's header: mostly the later profile's where the two differ.
Profile joined_header(const Profile& before, const Profile& after) {
  Profile out;
  out.sample_types = after.sample_types;
  out.drop_frames = after.drop_frames;
  out.keep_frames = after.keep_frames;
  out.time_nanos = after.time_nanos;
  out.duration_nanos = saturating_add(after.duration_nanos, before.duration_nanos);
  out.period_type = after.period_type;
  out.period = std::max(before.period, after.period);
  out.comments = after.comments;
  std::set<std::string_view> known(after.comments.begin(), after.comments.end());
  for (const auto& comment : before.comments) {
    if (known.insert(comment).second) out.comments.push_back(comment);
  }
  out.default_sample_type = after.default_sample_type.empty() ? before.default_sample_type : after.default_sample_type;
  out.doc_url = after.doc_url;
  return out;
}

}  // namespace

Result<> check_comparable(const Profile& before, const Profile& after) {
  if (before.period_type != after.period_type) {
    return fail(ErrorCode::kInvalid, fmt::format("the profiles sample different things: {} and {}",
                                                 name_of(before.period_type), name_of(after.period_type)));
  }
  if (common_types(before, after).empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("the profiles have no sample type in common: {} and {}",
                                                 names_of(before.sample_types), names_of(after.sample_types)));
  }
  return {};
}

Result<Profile> diff(const Profile& before, const Profile& after) {
  RETURN_IF_ERROR(check_comparable(before, after));
  const std::vector<ValueType> types = common_types(before, after);
  const bool is_same = types == before.sample_types && types == after.sample_types;
  if (!is_same) return diff(with_types(before, types), with_types(after, types));
  Profile out = joined_header(before, after);
  Joiner joiner(out);
  joiner.add(after, false);
  joiner.add(before, true);
  joiner.drop_zero_samples();
  return out;
}

bool is_base_sample(const Sample& sample) {
  return std::any_of(sample.labels.begin(), sample.labels.end(), is_base_label);
}

std::int64_t reference_total(const Profile& profile, int type_index) {
  std::int64_t all = 0;
  std::int64_t base = 0;
  for (const auto& sample : profile.samples) {
    if (type_index < 0 || static_cast<std::size_t>(type_index) >= sample.values.size()) continue;
    const std::int64_t size = magnitude(sample.values[static_cast<std::size_t>(type_index)]);
    all = saturating_add(all, size);
    if (is_base_sample(sample)) base = saturating_add(base, size);
  }
  return base > 0 ? base : all;
}

}  // namespace oomw::pprof
