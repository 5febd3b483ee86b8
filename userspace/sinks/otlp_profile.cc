// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_profile.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "base/text.h"
#include "pprof/saturating.h"
#include "reader/wire.h"
#include "sinks/otlp_logs.h"
#include "sinks/otlp_values.h"
#include "sinks/s3/sha256.h"

namespace oomw {
namespace {

using protozero::pbf_writer;

struct ProfileField {
  static constexpr unsigned kDictionary = 2;                                         // ExportProfilesServiceRequest
  static constexpr unsigned kMappings = 1, kLocations = 2, kFunctions = 3;           // ProfilesDictionary
  static constexpr unsigned kLinks = 4, kStrings = 5, kAttributes = 6, kStacks = 7;  // the same
  static constexpr unsigned kStart = 1, kLimit = 2, kOffset = 3, kMappedFile = 4;    // Mapping
  static constexpr unsigned kMapping = 1, kAddress = 2, kLines = 3;                  // Location
  static constexpr unsigned kFunction = 1, kLineNumber = 2;                          // Line
  static constexpr unsigned kName = 1, kSystemName = 2, kFile = 3, kStartLine = 4;   // Function
  static constexpr unsigned kStackLocations = 1;                                     // Stack
  static constexpr unsigned kSampleType = 1, kSamples = 2, kTime = 3;                // Profile
  static constexpr unsigned kPeriodType = 5, kPeriod = 6, kId = 7;                   // the same
  static constexpr unsigned kType = 1, kUnit = 2;                                    // ValueType
  static constexpr unsigned kSampleStack = 1, kValues = 4;                           // Sample
};

constexpr std::size_t kIdBytes = 16;

// A profile's tables in the order of its own, each behind a zero value: an index of 0 means none.
class Dictionary {
 public:
  explicit Dictionary(const pprof::Profile& profile) {
    for (const unsigned table : {ProfileField::kMappings, ProfileField::kLocations, ProfileField::kFunctions,
                                 ProfileField::kLinks, ProfileField::kAttributes, ProfileField::kStacks}) {
      writer_.add_message(table, std::string());
    }
    (void)text("");
    for (const pprof::Mapping& mapping : profile.mappings) add(mapping);
    for (const pprof::Function& function : profile.functions) add(function);
    for (const pprof::Location& location : profile.locations) add(location);
  }

  std::int32_t text(const std::string& value) {
    const auto [entry, is_new] = texts_.try_emplace(to_valid_utf8(value), static_cast<std::int32_t>(texts_.size()));
    if (is_new) writer_.add_string(ProfileField::kStrings, entry->first);
    return entry->second;
  }
  std::int32_t stack(const std::vector<std::uint64_t>& location_ids) {
    std::vector<std::int32_t> indices;
    for (const std::uint64_t id : location_ids) {
      if (const std::int32_t index = locations_.find(id); index != 0) indices.push_back(index);
    }
    if (indices.empty()) return 0;
    const auto [entry, is_new] = stacks_.try_emplace(indices, static_cast<std::int32_t>(stacks_.size() + 1));
    if (is_new) {
      pbf_writer message(writer_, ProfileField::kStacks);
      message.add_packed_int32(ProfileField::kStackLocations, indices.begin(), indices.end());
    }
    return entry->second;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  // The index of each entry by the id that it has in the profile.
  class Indices {
   public:
    void add(std::uint64_t id) { by_id_.try_emplace(id, ++last_); }
    [[nodiscard]] std::int32_t find(std::uint64_t id) const {
      const auto found = by_id_.find(id);
      return found == by_id_.end() ? 0 : found->second;
    }

   private:
    std::unordered_map<std::uint64_t, std::int32_t> by_id_;
    std::int32_t last_ = 0;
  };

  // Texts come first: they go to the same bytes, which belong to an entry while it is written.
  void add(const pprof::Mapping& mapping) {
    const std::int32_t file = text(mapping.filename);
    pbf_writer entry(writer_, ProfileField::kMappings);
    entry.add_uint64(ProfileField::kStart, mapping.memory_start);
    entry.add_uint64(ProfileField::kLimit, mapping.memory_limit);
    entry.add_uint64(ProfileField::kOffset, mapping.file_offset);
    entry.add_int32(ProfileField::kMappedFile, file);
    mappings_.add(mapping.id);
  }
  void add(const pprof::Function& function) {
    const std::int32_t name = text(function.name), system_name = text(function.system_name);
    const std::int32_t file = text(function.filename);
    pbf_writer entry(writer_, ProfileField::kFunctions);
    entry.add_int32(ProfileField::kName, name);
    entry.add_int32(ProfileField::kSystemName, system_name);
    entry.add_int32(ProfileField::kFile, file);
    entry.add_int64(ProfileField::kStartLine, function.start_line);
    functions_.add(function.id);
  }
  void add(const pprof::Location& location) {
    pbf_writer entry(writer_, ProfileField::kLocations);
    entry.add_int32(ProfileField::kMapping, mappings_.find(location.mapping_id));
    entry.add_uint64(ProfileField::kAddress, location.address);
    for (const pprof::Line& line : location.lines) {
      pbf_writer of_line(entry, ProfileField::kLines);
      of_line.add_int32(ProfileField::kFunction, functions_.find(line.function_id));
      of_line.add_int64(ProfileField::kLineNumber, line.line);
    }
    locations_.add(location.id);
  }

  std::string bytes_;
  pbf_writer writer_{bytes_};
  std::unordered_map<std::string, std::int32_t> texts_;
  std::map<std::vector<std::int32_t>, std::int32_t> stacks_;
  Indices mappings_, functions_, locations_;
};

void write_type(pbf_writer& profile, unsigned number, const pprof::ValueType& type, Dictionary& dictionary) {
  const std::int32_t name = dictionary.text(type.type), unit = dictionary.text(type.unit);
  pbf_writer message(profile, number);
  message.add_int32(ProfileField::kType, name);
  message.add_int32(ProfileField::kUnit, unit);
}

std::string id_bytes(const std::string& incident_id) {
  const auto digest = sha256(incident_id + "/profile");
  return {reinterpret_cast<const char*>(digest.data()), kIdBytes};
}

}  // namespace

OtlpProfile otlp_profile_of(const pprof::Profile& profile) {
  OtlpProfile result;
  if (profile.sample_types.empty()) return result;
  const int inuse = profile.type_index("inuse_space");
  const std::size_t type = inuse >= 0 ? static_cast<std::size_t>(inuse) : profile.sample_types.size() - 1;
  Dictionary dictionary(profile);
  std::map<std::int32_t, std::int64_t> values;  // by stack: samples that differ in labels alone are one
  for (const pprof::Sample& sample : profile.samples) {
    const std::int64_t value = type < sample.values.size() ? sample.values[type] : 0;
    if (value == 0) continue;
    std::int64_t& sum = values[dictionary.stack(sample.location_ids)];
    sum = pprof::saturating_add(sum, value);
  }
  {
    pbf_writer message(result.profile);
    write_type(message, ProfileField::kSampleType, profile.sample_types[type], dictionary);
    for (const auto& [stack, value] : values) {
      pbf_writer sample(message, ProfileField::kSamples);
      sample.add_int32(ProfileField::kSampleStack, stack);
      sample.add_packed_int64(ProfileField::kValues, &value, &value + 1);
    }
    write_type(message, ProfileField::kPeriodType, profile.period_type, dictionary);
    message.add_int64(ProfileField::kPeriod, profile.period);
  }
  result.dictionary = dictionary.take();
  return result;
}

std::string otlp_profile_id(const std::string& incident_id) { return to_hex(id_bytes(incident_id)); }

std::string otlp_profile_request(const std::vector<OtlpAttribute>& resource, std::string_view dictionary,
                                 std::string_view profile, WallTime time, const std::string& incident_id) {
  std::string request = otlp_request(resource, [&](pbf_writer& scope) {
    std::string message(profile);
    {
      pbf_writer more(message);
      more.add_fixed64(ProfileField::kTime, static_cast<std::uint64_t>(time.ns));
      more.add_bytes(ProfileField::kId, id_bytes(incident_id));
    }
    scope.add_message(kOtlpEntries, message);
  });
  pbf_writer(request).add_message(ProfileField::kDictionary, std::string(dictionary));
  return request;
}

ProfileStore otlp_profile_store(OtlpSettings settings, OtlpMapping mapping, ProfileStore::Fold fold,
                                std::shared_ptr<const std::atomic<bool>> stopping) {
  settings.is_json = false;
  const auto post = otlp_poster(settings, std::move(stopping));
  const auto send = [mapping = std::move(mapping), post](const Incident& incident, const IncidentCapture& capture,
                                                         const std::string& folded) {
    reader::WireReader in(folded);
    const std::string_view dictionary = in.text(), profile = in.text();
    if (!in.is_complete()) return Delivery::refused(DeliveryReason::kUnreadable, "no folded profile");
    const auto resource = otlp_record_of(incident, "", 1, incident.time, mapping).resource;
    return post(otlp_profile_request(resource, dictionary, profile, capture.time, incident.id));
  };
  return {"otlp_profiles", std::nullopt, std::move(fold), send};
}

}  // namespace oomw
