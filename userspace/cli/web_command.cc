// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "web/site/site.h"

namespace oomw::cli {

int web_command(const CommandLine& line, const Config& config) {
  const std::string& data_dir = config.data_dir;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before there are threads
  auto listener = open_site_listener(line.web_listen.value_or("127.0.0.1:9436"));
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
