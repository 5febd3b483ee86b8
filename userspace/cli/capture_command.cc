// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/process_contents.h"
#include "cli/read/output_file.h"
#include "cli/read/progress.h"
#include "daemon/capture_once.h"
#include "verdict/shell_word.h"

namespace oomw::cli {
namespace {

std::string default_path(const CaptureFinished& finished) {
  std::string time = to_rfc3339(SystemClock().wall_now()).substr(0, 19) + "Z";
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("oomwitness-{}-{}.pb.gz", finished.process.pid, time);
}

// What shows that file; "" for one that went to stdout.
std::string shown_by(const char* command, const std::string& path) {
  return is_stdout(path) ? "" : fmt::format("{} {}\n", command, shell_word(path));
}

// A program without a heap profile is read by what fills its memory. nullopt: nothing can be read of it either.
std::optional<int> capture_contents(const CommandLine& line, const Config& config, const std::string& why_no_profile) {
  const auto contents = read_process_contents(config, {line.pid, line.container, line.pod});
  if (!contents) return std::nullopt;
  const std::string& path = line.output_path;
  if (path.empty()) {
    fmt::print("{}", to_text(*contents));
    if (contents->found.of == RuntimeKind::kGo) {
      fmt::print("It has no heap profile ({}). oomwitness holders --pid {} shows the chains to what keeps its heap.\n",
                 why_no_profile, contents->pid);
    }
    return kOk;
  }
  if (contents->profile.empty()) return std::nullopt;
  if (Result<> written = write_output(path, contents->profile); !written.has_value()) return report(written.error());
  fmt::print(message_stream(path), "{}: what {} pid {} ({}), since it has no heap profile ({})\n{}", path,
             contents->found.of == RuntimeKind::kGo ? "keeps the heap of" : "fills", contents->pid,
             to_string(contents->found.of), why_no_profile, shown_by("oomwitness top", path));
  return kOk;
}

}  // namespace

int capture_command(const CommandLine& line, const Config& config) {
  Progress progress;
  progress.show("reading the heap from outside, at most a few seconds ...");
  const Result<CaptureOutcome> outcome = capture_once(config, {line.pid, line.container, line.pod});
  progress.clear();
  if (!outcome.has_value()) return report(outcome.error());
  const CaptureFinished& finished = outcome->finished;
  if (finished.result != CaptureResult::kOk) {
    const std::string why = fmt::format("{}: {}", to_string(finished.reason), printable(finished.detail, 512));
    if (const auto done = capture_contents(line, config, why)) return *done;
    return report(Error{::geteuid() == 0 ? ErrorCode::kUnavailable : ErrorCode::kPermission,
                        fmt::format("no profile of pid {}: {}", finished.process.pid, why)});
  }
  const std::string path = line.output_path.empty() ? default_path(finished) : line.output_path;
  constexpr std::uint64_t kMaxBytes = 256u << 20;  // the most that the endpoint's configured limit may be
  const auto& file = outcome->profile_file;
  const Result<std::string> profile = file ? file->read(kMaxBytes) : outcome->profile;
  if (!profile) return report(profile.error());
  if (Result<> written = write_output(path, *profile); !written.has_value()) return report(written.error());
  fmt::print(message_stream(path), "{}: {} heap profile of pid {}, {} in use, {} samples\n{}\n{}", path,
             to_string(finished.method), finished.process.pid, human_bytes(finished.inuse_bytes.value_or(0)),
             finished.sample_count.value_or(0), printable(finished.detail, 512), shown_by("go tool pprof -top", path));
  return kOk;
}

}  // namespace oomw::cli
