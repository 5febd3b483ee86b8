// SPDX-License-Identifier: Apache-2.0
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "pprof/codec.h"
#include "pprof/fields.h"

namespace oomw::pprof {
namespace {

using protozero::pbf_writer;

// Profile to protobuf. Strings get their index at first use, so equal profiles give equal bytes;
// fields at their default are left out, as proto3 does.
class Encoder {
 public:
  std::string run(const Profile& profile) {
    (void)intern("");
    pbf_writer out(bytes_);
    for (const auto& type : profile.sample_types) write(out, field::profile::kSampleType, type);
    for (const auto& sample : profile.samples) write(out, sample);
    for (const auto& mapping : profile.mappings) write(out, mapping);
    for (const auto& location : profile.locations) write(out, location);
    for (const auto& function : profile.functions) write(out, function);
    write_scalars(out, profile);
    for (const std::string* text : strings_) out.add_string(field::profile::kStringTable, *text);
    return std::move(bytes_);
  }

 private:
  std::int64_t intern(const std::string& text) {
    const auto [entry, inserted] = index_.try_emplace(text, static_cast<std::int64_t>(strings_.size()));
    if (inserted) strings_.push_back(&entry->first);
    return entry->second;
  }

  static void number(pbf_writer& m, field::Number tag, std::int64_t value) {
    if (value != 0) m.add_int64(tag, value);
  }
  static void number(pbf_writer& m, field::Number tag, std::uint64_t value) {
    if (value != 0) m.add_uint64(tag, value);
  }
  void text(pbf_writer& m, field::Number tag, const std::string& value) { number(m, tag, intern(value)); }

  void write(pbf_writer& out, field::Number tag, const ValueType& type) {
    pbf_writer m(out, tag);
    // Also when "": protozero drops a message without fields, and each value needs its type.
    m.add_int64(field::value_type::kType, intern(type.type));
    text(m, field::value_type::kUnit, type.unit);
  }

  void write(pbf_writer& out, const Sample& sample) {
    pbf_writer m(out, field::profile::kSample);
    m.add_packed_uint64(field::sample::kLocationId, sample.location_ids.begin(), sample.location_ids.end());
    m.add_packed_int64(field::sample::kValue, sample.values.begin(), sample.values.end());
    for (const auto& label : sample.labels) {
      pbf_writer nested(m, field::sample::kLabel);
      text(nested, field::label::kKey, label.key);
      text(nested, field::label::kText, label.text);
      number(nested, field::label::kNumber, label.number);
      text(nested, field::label::kUnit, label.unit);
    }
  }

  void write(pbf_writer& out, const Mapping& mapping) {
    namespace f = field::mapping;
    pbf_writer m(out, field::profile::kMapping);
    number(m, f::kId, mapping.id);
    number(m, f::kMemoryStart, mapping.memory_start);
    number(m, f::kMemoryLimit, mapping.memory_limit);
    number(m, f::kFileOffset, mapping.file_offset);
    text(m, f::kFilename, mapping.filename);
    text(m, f::kBuildId, mapping.build_id);
    number(m, f::kHasFunctions, std::uint64_t{mapping.has_functions});
    number(m, f::kHasFilenames, std::uint64_t{mapping.has_filenames});
    number(m, f::kHasLineNumbers, std::uint64_t{mapping.has_line_numbers});
    number(m, f::kHasInlineFrames, std::uint64_t{mapping.has_inline_frames});
  }

  void write(pbf_writer& out, const Location& location) {
    namespace f = field::location;
    pbf_writer m(out, field::profile::kLocation);
    number(m, f::kId, location.id);
    number(m, f::kMappingId, location.mapping_id);
    number(m, f::kAddress, location.address);
    for (const auto& line : location.lines) {
      pbf_writer nested(m, f::kLine);
      number(nested, field::line::kFunctionId, line.function_id);
      number(nested, field::line::kLine, line.line);
    }
  }

  void write(pbf_writer& out, const Function& function) {
    namespace f = field::function;
    pbf_writer m(out, field::profile::kFunction);
    number(m, f::kId, function.id);
    text(m, f::kName, function.name);
    text(m, f::kSystemName, function.system_name);
    text(m, f::kFilename, function.filename);
    number(m, f::kStartLine, function.start_line);
  }

  void write_scalars(pbf_writer& out, const Profile& profile) {
    namespace f = field::profile;
    text(out, f::kDropFrames, profile.drop_frames);
    text(out, f::kKeepFrames, profile.keep_frames);
    number(out, f::kTimeNanos, profile.time_nanos);
    number(out, f::kDurationNanos, profile.duration_nanos);
    if (profile.period_type != ValueType{}) write(out, f::kPeriodType, profile.period_type);
    number(out, f::kPeriod, profile.period);
    for (const auto& comment : profile.comments) out.add_int64(f::kComment, intern(comment));
    text(out, f::kDefaultSampleType, profile.default_sample_type);
    text(out, f::kDocUrl, profile.doc_url);
  }

  std::string bytes_;
  std::unordered_map<std::string, std::int64_t> index_;
  std::vector<const std::string*> strings_;  // keys of index_, whose nodes do not move
};

}  // namespace

std::string write(const Profile& profile) { return gzip(Encoder().run(profile)); }

}  // namespace oomw::pprof
