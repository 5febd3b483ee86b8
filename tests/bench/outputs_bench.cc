// SPDX-License-Identifier: Apache-2.0
// What this build makes of incidents that were kept: outputs_bench [--out DIRECTORY] PATH...
// PATH: the directory of an incident, or a recording (.jsonl), whose events are replayed. Prints a line of each, "NAME
// CAUSE CONFIDENCE (others)" by the rules of this build, and below it the answer; the verdict and the answer in the
// file are not looked at. For changes of the rules: real runs take minutes each, and the evidence that they left none.
// With --out also every form of it that anybody reads (support/incident_outputs.h), as files in DIRECTORY/NAME/.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/replay.h"
#include "store/incident_reader.h"
#include "support/incident_outputs.h"

namespace {

using namespace oomw;
namespace fs = std::filesystem;

struct Kept {
  std::string name, directory;
  Incident incident;
};

Result<std::vector<Kept>> kept_in(const fs::path& path) {
  std::vector<Kept> kept;
  if (path.extension() != ".jsonl") {
    const std::string directory = (path / ".").parent_path();
    ASSIGN_OR_RETURN(Incident incident, read_incident(directory));
    kept.push_back({fs::path(directory).filename(), directory, std::move(incident)});
    return kept;
  }
  ASSIGN_OR_RETURN(std::vector<Incident> incidents, replay(path, {}, {}));
  for (Incident& one : incidents) {
    kept.push_back({path.stem().string() + "-" + std::to_string(kept.size()), "", std::move(one)});
  }
  return kept;
}

Result<> look_at(const fs::path& path, const fs::path& out) {
  ASSIGN_OR_RETURN(const std::vector<Kept> kept, kept_in(path));
  for (const Kept& one : kept) {
    std::printf("%s %s", one.name.c_str(), test::judged_anew(one.incident).c_str());
    if (out.empty()) continue;
    std::string directory = one.directory;
    const fs::path scratch = out / ".data";
    if (directory.empty()) {
      ASSIGN_OR_RETURN(directory, test::store_without_evidence(one.incident, scratch));
    }
    fs::create_directories(out / one.name);
    for (const auto& [name, text] : test::outputs_of(one.incident, directory)) {
      std::ofstream(out / one.name / name) << text;
    }
    fs::remove_all(scratch);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool has_out = arguments.size() > 1 && arguments[0] == "--out";
  const std::size_t first = has_out ? 2 : 0;
  int failed = arguments.size() <= first;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    const auto done = look_at(arguments[i], has_out ? arguments[1] : "");
    if (done.has_value()) continue;
    std::fprintf(stderr, "%s: %s\n", arguments[i].c_str(), done.error().message.c_str());
    failed = 1;
  }
  return failed;
}
