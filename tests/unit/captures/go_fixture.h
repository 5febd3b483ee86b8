// SPDX-License-Identifier: Apache-2.0
// What the tests of Go captures share: profiles by stack, requests, files.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "captures/capture.h"
#include "pprof/codec.h"
#include "unit/base/temporary_directory.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw::test {

using GoHeap = go::test::GoProcess;

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// "main.leak file:12|main.main file:40 bytes=1048576" -> values. Samples of the same name are added
// up; left out are those without any value, since the runtime lists buckets that never counted, and
// what go-heap allocates to answer a command, since that comes after the collection asked for.
using Samples = std::map<std::string, std::vector<std::int64_t>>;

inline Samples samples_of(const pprof::Profile& profile) {
  std::map<std::uint64_t, const pprof::Function*> functions;
  for (const auto& function : profile.functions) functions[function.id] = &function;
  std::map<std::uint64_t, std::string> names;
  for (const auto& location : profile.locations) {
    for (const auto& line : location.lines) {
      const auto* function = functions.at(line.function_id);
      names[location.id] += function->name + " " + function->filename + ":" + std::to_string(line.line) + "|";
    }
  }
  Samples samples;
  for (const auto& sample : profile.samples) {
    if (sample.values == std::vector<std::int64_t>(sample.values.size())) continue;
    std::string name;
    for (const auto id : sample.location_ids) name += names[id];
    for (const auto& label : sample.labels) name += " " + label.key + "=" + std::to_string(label.number);
    if (name.find("|fmt.Println ") != std::string::npos) continue;
    auto& sum = samples[name];
    sum.resize(sample.values.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sample.values[i];
  }
  return samples;
}

// What differs by more than rounding.
inline std::vector<std::string> differences(const Samples& a, const Samples& b) {
  std::vector<std::string> found;
  Samples all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [name, values] : all) {
    const bool in_both = a.contains(name) && b.contains(name);
    bool is_equal = in_both;
    for (std::size_t i = 0; in_both && i < values.size(); ++i) {
      is_equal = is_equal && std::abs(a.at(name)[i] - b.at(name)[i]) <= 1;
    }
    if (!is_equal && found.size() < 10) found.push_back((in_both ? "values of " : "only in one: ") + name);
  }
  return found;
}

inline CaptureRequest request_for(std::vector<ProcessKey> processes, const Clock& clock) {
  CaptureRequest request;
  request.capture_id = 7;
  request.trigger = CaptureTrigger::watermark(90);
  for (const ProcessKey process : processes) request.targets.push_back({process, CgroupId{5}, "go-heap", ""});
  request.requested = clock.now();
  request.deadline = clock.now() + std::chrono::seconds(20);
  return request;
}

}  // namespace oomw::test
