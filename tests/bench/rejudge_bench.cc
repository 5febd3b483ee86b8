// SPDX-License-Identifier: Apache-2.0
// What this build says of incidents that were kept: rejudge_bench DIRECTORY...
// Prints "NAME CAUSE CONFIDENCE (others)" a line, of each DIRECTORY/incident.json, and below it the answer; the verdict
// and the answer in the file are not looked at. For changes of the rules: real runs take minutes each, and the evidence
// that they left none.
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "incident/incident.h"
#include "verdict/verdict.h"

namespace {

constexpr std::size_t kMaxBytes = 8 << 20;

int rejudge(const std::string& directory) {
  const std::string name = std::filesystem::path(directory + "/.").parent_path().filename();
  const auto text = oomw::read_file(directory + "/incident.json", kMaxBytes);
  auto incident = text.has_value() ? oomw::incident_from_json(*text) : tl::make_unexpected(text.error());
  if (!incident.has_value()) {
    std::fprintf(stderr, "%s: %s\n", directory.c_str(), incident.error().message.c_str());
    return 1;
  }
  incident->verdict.reset();
  oomw::conclude(*incident);
  const auto& verdict = incident->verdict;
  std::printf("%s %s %.2f", name.c_str(), verdict ? verdict->cause.c_str() : "(none)",
              verdict ? verdict->confidence : 0);
  if (verdict) {
    for (const auto& other : verdict->also) std::printf(" %s=%.2f", other.cause.c_str(), other.confidence);
  }
  std::printf("\n  %s\n", incident->answer ? incident->answer->sentence.c_str() : "");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int failed = argc < 2;
  for (int i = 1; i < argc; ++i) failed |= rejudge(argv[i]);
  return failed;
}
