// SPDX-License-Identifier: Apache-2.0
#include "verdict/victim_language.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "verdict/verdict_evidence.h"

namespace oomw {
namespace {

Language by_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Language>, 7> kNames = {{{"python", Language::kPython},
                                                                            {"gunicorn", Language::kPython},
                                                                            {"uwsgi", Language::kPython},
                                                                            {"celery", Language::kPython},
                                                                            {"java", Language::kJava},
                                                                            {"nodejs", Language::kNode},
                                                                            {"node", Language::kNode}}};
  for (const auto& [start, language] : kNames) {
    if (!name.starts_with(start)) continue;
    // "python3.11" is Python, "node_exporter" and "javascript-thing" are other programs.
    const std::string_view rest = name.substr(start.size());
    if (rest.find_first_not_of("0123456789.") == std::string_view::npos) return language;
  }
  return Language::kUnknown;
}

Language by_capture(std::string_view of) {
  if (of == "cpython") return Language::kPython;
  if (of == "jvm") return Language::kJava;
  return of == "v8" ? Language::kNode : Language::kUnknown;
}

}  // namespace

Language language_of(const Incident& incident) {
  if (is_go(incident)) return Language::kGo;
  for (const IncidentCapture& capture : incident.captures) {
    if (const Language language = by_capture(capture.of); language != Language::kUnknown) return language;
  }
  for (const IncidentAnalysis& analysis : incident.analyses) {
    if (const Language language = by_capture(analysis.of); language != Language::kUnknown) return language;
  }
  if (incident.victims.empty()) return Language::kUnknown;
  const IncidentVictim& victim = incident.victims.front();
  const Language by_program = by_name(base_name(victim.exe));
  return by_program == Language::kUnknown ? by_name(victim.comm) : by_program;
}

HeapAdvice heap_advice(Language language) {
  switch (language) {
    case Language::kPython:
      return {
          "No heap of this Python program was read. Its own tracemalloc names the lines that allocate (start it with "
          "this, then compare two tracemalloc.take_snapshot()):",
          "PYTHONTRACEMALLOC=10"};
    case Language::kJava:
      return {
          "No heap of this Java program was read. -Xmx or -XX:MaxRAMPercentage must leave room for metaspace, threads "
          "and direct buffers; which classes fill the heap while it runs (PID: of the next run):",
          "jcmd PID GC.class_histogram | head -n 20"};
    case Language::kNode:
      return {
          "No heap of this Node.js program was read. --max-old-space-size must lie below the limit; a heap snapshot on "
          "each SIGUSR2 shows which objects grow:",
          "NODE_OPTIONS=--heapsnapshot-signal=SIGUSR2"};
    case Language::kUnknown:
      return {"No heap profile of this program could be taken. What fills it, while it runs (PID: of the next run):",
              "oomwitness capture --pid PID"};
    case Language::kGo:
      break;
  }
  return {
      "No profile was taken before this kill. What fills it and who keeps it, while it runs (PID: of the next run; "
      "nothing need be served or linked in):",
      "oomwitness holders --pid PID"};
}

}  // namespace oomw
