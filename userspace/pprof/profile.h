// SPDX-License-Identifier: Apache-2.0
// A pprof profile (profile.proto of google/pprof) as plain data. Pure: no files, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oomw::pprof {

struct ValueType {
  std::string type;  // alloc_objects | alloc_space | inuse_objects | inuse_space ...
  std::string unit;  // count | bytes ...
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

struct Label {
  std::string key;
  std::string text;         // string label, or
  std::int64_t number = 0;  // numeric label in `unit`
  std::string unit;
};

struct Mapping {
  std::uint64_t id = 0;
  std::uint64_t memory_start = 0, memory_limit = 0, file_offset = 0;
  std::string filename;
  std::string build_id;
  bool has_functions = false, has_filenames = false, has_line_numbers = false, has_inline_frames = false;
};

struct Function {
  std::uint64_t id = 0;
  std::string name, system_name, filename;
  std::int64_t start_line = 0;
};

struct Line {
  std::uint64_t function_id = 0;
  std::int64_t line = 0;
};

struct Location {
  std::uint64_t id = 0;
  std::uint64_t mapping_id = 0;
  std::uint64_t address = 0;
  std::vector<Line> lines;  // inlined leaf first, the caller last
};

struct Sample {
  std::vector<std::uint64_t> location_ids;  // leaf first
  std::vector<std::int64_t> values;         // one per sample type
  std::vector<Label> labels;
};

struct Profile {
  std::vector<ValueType> sample_types;
  std::vector<Sample> samples;
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  std::vector<Function> functions;
  std::string drop_frames, keep_frames;
  std::int64_t time_nanos = 0;  // CLOCK_REALTIME
  std::int64_t duration_nanos = 0;
  ValueType period_type;
  std::int64_t period = 0;
  std::vector<std::string> comments;
  std::string default_sample_type;  // "" = the last one
  std::string doc_url;

  // Index of a sample type; -1 if absent.
  [[nodiscard]] int type_index(const std::string& type) const;
  // Sum over all samples of sample type `index`; saturates.
  [[nodiscard]] std::int64_t total(int index) const;
};

}  // namespace oomw::pprof
