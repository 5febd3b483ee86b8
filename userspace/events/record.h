// SPDX-License-Identifier: Apache-2.0
// A recording is a text file: one JSON object per line, {"type": "...", "time_ns": N, ...},
// after a header line {"type":"recording","version":1,"wall_minus_monotonic_ns":N}. It is text so that people
// can read what is in it before they attach it to a bug report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "events/event.h"

namespace oomw {

[[nodiscard]] std::string to_json_line(const Event& event);               // no newline; valid UTF-8
[[nodiscard]] Result<Event> event_from_json_line(std::string_view line);  // kInvalid with the reason

// Appends events to a file; stops at max_bytes (events after that are counted as dropped).
class Recorder {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> make(const std::string& path, std::uint64_t max_bytes,
                                                              std::int64_t wall_minus_monotonic_ns);
  ~Recorder();
  void write(const Event& event);
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Impl;
  explicit Recorder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Streams a recording. A malformed line is an error that names its number; a last line cut short
// by a crash ends the stream.
class Recording {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Recording>> open(const std::string& path);
  ~Recording();
  [[nodiscard]] std::int64_t wall_minus_monotonic_ns() const;
  // The next event; nullopt at the end.
  [[nodiscard]] Result<std::optional<Event>> next();

 private:
  struct Impl;
  explicit Recording(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
