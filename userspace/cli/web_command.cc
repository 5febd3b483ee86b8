// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "store/incident_reader.h"
#include "web/site/site.h"

namespace oomw::cli {
namespace {

constexpr const char* kUsual = "127.0.0.1:9436";

// Where nobody chose an address and the usual one is taken, a free port.
Result<Listener> open_listener(const std::optional<std::string>& wanted) {
  auto listener = open_site_listener(wanted.value_or(kUsual));
  if (listener || listener.error().code != ErrorCode::kUnavailable) return listener;
  if (wanted) {
    listener.error().message += "; choose another, for example --listen 127.0.0.1:0 for any that is free";
    return listener;
  }
  fmt::print(stderr, "{} is taken, maybe by the daemon and its own pages: another port is used\n", kUsual);
  return open_site_listener("127.0.0.1:0");
}

}  // namespace

int web_command(const CommandLine& line, const Config& config) {
  const std::string& data_dir = config.data_dir;
  std::error_code ignored;
  if (!std::filesystem::is_directory(data_dir, ignored)) {
    return report(Error{ErrorCode::kNotFound, "no directory " + printable(data_dir)});
  }
  if (const auto listed = IncidentReader(data_dir).summaries({.limit = 1}); !listed) return report(listed.error());
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before there are threads
  auto listener = open_listener(line.web_listen);
  if (!listener.has_value()) return report(listener.error());
  const std::uint16_t port = listener->port;
  const auto server = start_site(std::move(*listener), {data_dir, nullptr, {}, config.patterns});
  if (!server.has_value()) return report(server.error());
  fmt::print("the incidents of {} are on http://localhost:{}/ until this is interrupted\n", printable(data_dir, 4096),
             port);
  (void)std::fflush(stdout);
  int signal = 0;
  (void)::sigwait(&ends, &signal);
  return kOk;
}

}  // namespace oomw::cli
