// SPDX-License-Identifier: Apache-2.0
// Logging to stderr through one bounded background thread: under memory pressure a write can
// stall, and the core thread must not. When the queue is full the oldest message is dropped and
// counted (dropped_log_messages).
//
// Levels by what the reader should do: error = act; warn = be aware; info = milestones; debug = for developers.
// Log once, at the top of the call chain, with the whole context. Text that a workload controls
// goes through printable() (base/text.h) first.
#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace oomw::log {

enum class Level { kDebug, kInfo, kWarn, kError };

void start(Level level);  // once, before the first message; without it each goes out directly and has no time
void stop();              // flush and join

void write(Level level, std::string_view message);
// "<3>" to "<7>" where `fd` leads to systemd's journal, which removes it and stores it as the line's priority
// (sd-daemon(3)), so that `journalctl -p warning` works. "" elsewhere. The log's own lines already have it.
[[nodiscard]] std::string_view journal_prefix(Level level, int fd);
[[nodiscard]] std::uint64_t dropped_messages();

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace oomw::log
