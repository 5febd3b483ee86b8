// SPDX-License-Identifier: Apache-2.0
// The messages of profile.proto: each field once, with its number and the member that holds it. Reader and writer
// both use this list. In the messages, strings are indices into the table of field 6.
#pragma once

#include <concepts>
#include <cstdint>

#include "pprof/profile.h"

namespace oomw::pprof {

inline constexpr std::uint32_t kStringTableField = 6, kCommentField = 13;

template <typename T, typename Message>
concept IsA = std::same_as<std::remove_const_t<T>, Message>;

void describe(IsA<ValueType> auto& m, auto&& field) {
  field(1, m.type);
  field(2, m.unit);
}

void describe(IsA<Label> auto& m, auto&& field) {
  field(1, m.key);
  field(2, m.text);
  field(3, m.number);
  field(4, m.unit);
}

void describe(IsA<Sample> auto& m, auto&& field) {
  field(1, m.location_ids);
  field(2, m.values);
  field(3, m.labels);
}

void describe(IsA<Mapping> auto& m, auto&& field) {
  field(1, m.id);
  field(2, m.memory_start);
  field(3, m.memory_limit);
  field(4, m.file_offset);
  field(5, m.filename);
  field(6, m.build_id);
  field(7, m.has_functions);
  field(8, m.has_filenames);
  field(9, m.has_line_numbers);
  field(10, m.has_inline_frames);
}

void describe(IsA<Line> auto& m, auto&& field) {
  field(1, m.function_id);
  field(2, m.line);
}

void describe(IsA<Location> auto& m, auto&& field) {
  field(1, m.id);
  field(2, m.mapping_id);
  field(3, m.address);
  field(4, m.lines);
}

void describe(IsA<Function> auto& m, auto&& field) {
  field(1, m.id);
  field(2, m.name);
  field(3, m.system_name);
  field(4, m.filename);
  field(5, m.start_line);
}

void describe(IsA<Profile> auto& m, auto&& field) {
  field(1, m.sample_types);
  field(2, m.samples);
  field(3, m.mappings);
  field(4, m.locations);
  field(5, m.functions);
  field(7, m.drop_frames);
  field(8, m.keep_frames);
  field(9, m.time_nanos);
  field(10, m.duration_nanos);
  field(11, m.period_type);
  field(12, m.period);
  field(kCommentField, m.comments);
  field(14, m.default_sample_type);
  field(15, m.doc_url);
}

}  // namespace oomw::pprof
