// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/thread_setup.h"

namespace oomw::log {
namespace {

constexpr std::size_t kQueueLength = 4096;  // messages, allocated at start: 1.6 MB
constexpr auto kPattern = "%*%Y-%m-%dT%H:%M:%S.%eZ %l %v";

// The running logger. Writers hold the pool for the length of one enqueue, so stop() in another
// thread never destroys it under them.
// The pool is destroyed first: it joins its thread, whose queued messages own the logger too. So the logger is always
// destroyed here, never on a thread that is just ending.
struct Backend {
  std::shared_ptr<spdlog::async_logger> logger;
  std::shared_ptr<spdlog::details::thread_pool> pool;
};

// The one mutable global of the tree: every layer logs, and none should have to carry a logger for that.
struct State {
  std::mutex mutex;
  std::shared_ptr<const Backend> backend;      // guarded by mutex; null: write directly
  std::uint64_t dropped_by_stopped_pools = 0;  // guarded by mutex
};

State& state() {
  static State instance;
  return instance;
}

std::shared_ptr<const Backend> current() {
  const std::lock_guard lock(state().mutex);
  return state().backend;
}

struct LevelNames {
  spdlog::level::level_enum spdlog;
  std::string_view journal;
};

// In the order of Level.
constexpr std::array<LevelNames, 4> kLevels = {{{spdlog::level::debug, "<7>"},
                                                {spdlog::level::info, "<6>"},
                                                {spdlog::level::warn, "<4>"},
                                                {spdlog::level::err, "<3>"}}};

spdlog::level::level_enum to_spdlog(Level level) { return kLevels[static_cast<std::size_t>(level)].spdlog; }

Level from_spdlog(spdlog::level::level_enum level) {
  const auto found = std::ranges::find(kLevels, level, &LevelNames::spdlog);
  return found == kLevels.end() ? Level::kError : static_cast<Level>(found - kLevels.begin());
}

// %* of the pattern.
class JournalPriority : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string_view prefix = journal_prefix(from_spdlog(message.level), STDERR_FILENO);
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }
};

std::unique_ptr<spdlog::pattern_formatter> make_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JournalPriority>('*').set_pattern(kPattern);
  return formatter;
}

// systemd names the journal's socket in the environment; an fd that was redirected since is another file.
bool is_journal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat info = {};
  return stream != nullptr && ::fstat(fd, &info) == 0 && fmt::format("{}:{}", info.st_dev, info.st_ino) == stream;
}

void write_directly(Level level, std::string_view message) {
  if (level == Level::kDebug) return;  // as quiet as start(Level::kInfo)
  const std::string line = fmt::format("{}oomwitness: {}\n", journal_prefix(level, STDERR_FILENO), message);
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

std::shared_ptr<const Backend> make_backend(Level level) {
  auto backend = std::make_shared<Backend>();
  backend->pool = std::make_shared<spdlog::details::thread_pool>(kQueueLength, 1, [] { set_up_thread("oomw-log"); });
  backend->logger =
      std::make_shared<spdlog::async_logger>("oomwitness", std::make_shared<spdlog::sinks::stderr_sink_mt>(),
                                             backend->pool, spdlog::async_overflow_policy::overrun_oldest);
  backend->logger->set_formatter(make_formatter());
  backend->logger->set_level(to_spdlog(level));
  return backend;
}

}  // namespace

void start(Level level) {
  std::shared_ptr<const Backend> backend;
  try {
    backend = make_backend(level);
  } catch (const std::exception& e) {  // no thread available: keep writing directly
    write(Level::kWarn, fmt::format("cannot start the log thread, logging directly: {}", e.what()));
    return;
  }
  const std::lock_guard lock(state().mutex);
  state().backend = std::move(backend);
}

void stop() {
  std::shared_ptr<const Backend> last;
  {
    const std::lock_guard lock(state().mutex);
    last = std::move(state().backend);
    state().backend = nullptr;
    if (last) state().dropped_by_stopped_pools += last->pool->overrun_counter();
  }
  // The pool's destructor queues its end behind all messages and joins: that is the flush.
}

void write(Level level, std::string_view message) {
  if (const auto backend = current()) {
    backend->logger->log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } else {
    write_directly(level, message);
  }
}

std::string_view journal_prefix(Level level, int fd) {
  return is_journal(fd) ? kLevels[static_cast<std::size_t>(level)].journal : "";
}

std::uint64_t dropped_messages() {
  const std::lock_guard lock(state().mutex);
  return state().dropped_by_stopped_pools + (state().backend ? state().backend->pool->overrun_counter() : 0);
}

}  // namespace oomw::log
