// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "pprof/codec.h"
#include "pprof/profile.h"
#include "support/source_tree.h"

namespace oomw::pprof {

// leak <- serve <- main, 100 bytes; parse (inlined into serve) <- serve <- main, 50 bytes.
inline Profile sample_profile() {
  Profile p;
  p.sample_types = {{"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  p.mappings = {{1, 0x1000, 0x9000, 0, "/app/server", "b1d", true, true, true, true}};
  p.functions = {{1, "main.main", "main.main", "main.go", 3},
                 {2, "main.serve", "main.serve", "serve.go", 9},
                 {3, "main.leak", "main.leak", "leak.go", 5},
                 {4, "main.parse", "main.parse", "parse.go", 7}};
  p.locations = {
      {1, 1, 0x1100, {{1, 4}}}, {2, 1, 0x1200, {{2, 10}}}, {3, 1, 0x1300, {{3, 6}}}, {4, 1, 0x1400, {{4, 8}, {2, 11}}}};
  p.samples = {{{3, 2, 1}, {1, 100}, {{"bytes", "", 100, "bytes"}}}, {{4, 1}, {2, 50}, {{"zone", "a", 0, ""}}}};
  p.time_nanos = 1'763'697'600'000'000'000;
  p.period_type = {"space", "bytes"};
  p.period = 524288;
  p.comments = {"first"};
  return p;
}

// A heap profile with one stack for each list of functions, leaf first.
inline Profile profile_of_stacks(const std::vector<std::pair<std::vector<std::string>, std::int64_t>>& stacks) {
  Profile profile;
  profile.sample_types = {{"inuse_space", "bytes"}};
  std::uint64_t id = 0;
  for (const auto& [functions, bytes] : stacks) {
    Sample sample;
    for (const std::string& function : functions) {
      ++id;
      profile.functions.push_back({id, function, function, "/src/app/file.go", 1});
      profile.locations.push_back({id, 0, 0x1000 + id, {{id, static_cast<std::int64_t>(10 + id)}}});
      sample.location_ids.push_back(id);
    }
    sample.values = {bytes};
    profile.samples.push_back(std::move(sample));
  }
  return profile;
}

inline std::string fixture_path(const std::string& name = "leaky-go.pb.gz") {
  return test::source_tree() + "/tests/unit/pprof/data/" + name;
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A heap profile that Go 1.19 served: tests/workloads/leaky-go -rate 0 -limit-mb 40 -stacks 5.
inline std::string fixture() { return file_text(fixture_path()); }

// What oomwitness read of one real Collector (tests/workloads/collector by Go 1.27): at 80 % of its
// limit, and 3 s later at its OOM kill.
inline constexpr const char* kCollectorEarly = "collector-early.pb.gz";
inline constexpr const char* kCollectorKill = "collector-kill.pb.gz";

inline Profile fixture_profile(const std::string& name) { return read(file_text(fixture_path(name))).value(); }

}  // namespace oomw::pprof
