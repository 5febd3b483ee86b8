// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/enum_names.h"

namespace oomw {

// What the evidence shows that a culprit does with the memory; never more than it shows. A heap profile shows who
// allocated what is held; a queue's length shows who keeps it.
enum class Claim { kAllocates, kFills, kKeeps, kGrows };
template <>
inline constexpr auto kEnumNames<Claim> = std::to_array<std::string_view>({"allocates", "fills", "keeps", "grows"});

// All texts are printable.
struct AnswerCulprit {
  std::string claim;              // a name of Claim
  std::string code;               // "main.(*Cache).Put (cache.go:44)", "exporter otlp/backend"
  std::vector<std::string> path;  // the functions from there to the allocation; empty = not known
  std::string operation_kind;     // endpoint | method | component | job; "" = not known
  std::string operation;
  std::optional<double> share;         // of what `evidence` shows
  std::optional<std::uint64_t> bytes;  // of it
  std::string evidence;                // a file of the incident, or what was read; "" = none
  std::string build_id = {};           // of the native module that `code` is in, in hex; "" = not native, or not known
  std::optional<std::uint64_t> error_bytes{};  // of `bytes` that are an estimate: two standard deviations
};

struct IncidentAnswer {
  std::string sentence;   // what happened and whose code it was, or what would tell
  std::string cause;      // the verdict's; "" = none
  double confidence = 0;  // the verdict's
  std::optional<AnswerCulprit> culprit;
  std::string action;   // what to do, one sentence
  std::string again{};  // that the workload was killed before, and whether the culprit is the same; "" = it was not
  std::optional<bool> same_culprit{};  // as then; nullopt: it cannot be told, or there is no earlier kill
};

// The kill before of the same workload, as its answer was when this incident was built.
struct EarlierKill {
  std::uint64_t kills = 0;  // of the workload on record before this incident, with that one
  std::string id;
  WallTime time;
  std::string cause;                   // "" = none
  std::string claim, code, operation;  // of its culprit, bounded; code "" = nobody was named
};

// A part of the memory with a name, from the best profile or an analysis.
struct IncidentFiller {
  std::string runtime;  // "go"
  std::string kind;     // "site": a place of the program's own code; type | size | holder: by an analysis
  std::string name;     // "main.(*Cache).Put (cache.go:44)"
  std::vector<std::string> path;
  std::string operation_kind, operation;
  std::uint64_t bytes = 0;
  double share = 0;
  std::string evidence;             // the profile's method: at_kill | live | http; or "analysis"
  std::string held_as{};            // "`REQUEST_LOG` in module `app`"; "" = not known
  std::uint64_t count = 0;          // of objects; 0 = not counted
  std::optional<WallTime> as_of{};  // of an analysis
  // Bytes now / at the reading before; nullopt: there is none, or it was not among those listed there.
  std::optional<double> growth_ratio{};
  std::optional<std::uint64_t> error_bytes{};  // of an estimate: two standard deviations; nullopt: counted
};

struct IncidentOperation {
  std::string kind, name;
  std::uint64_t bytes = 0;
  double share = 0;
  std::optional<double>
      growth_ratio;  // bytes at the best profile / at the first comparable one; nullopt: there is none
};

}  // namespace oomw
