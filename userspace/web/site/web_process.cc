// SPDX-License-Identifier: Apache-2.0
#include "web/site/web_process.h"

#include <malloc.h>
#include <poll.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"
#include "reader/sandbox.h"
#include "web/http_server.h"
#include "web/site/site.h"

namespace oomw {
namespace {

constexpr Nanoseconds kWebIdle = std::chrono::seconds(60);
constexpr int kTickMs = 1'000;

constexpr int kGood = 0, kBroken = 1;

// Beside the daemon (25 MiB), its reader and ours (80 MiB each at most) within the 256 MiB of the unit.
reader::SandboxLimits limits() {
  reader::SandboxLimits limits;
  limits.memory_bytes = 96u << 20;
  limits.cpu_seconds = ~std::uint64_t{0};
  limits.files = 256;
  return limits;
}

void serve_until_idle(const HttpServer& server) {
  const SystemClock clock;
  MonotonicTime used = clock.now();
  std::uint64_t seen = 0;
  while (clock.now() - used < kWebIdle) {
    (void)::poll(nullptr, 0, kTickMs);
    const std::uint64_t accepted = server.accepted_connections();
    if (accepted != std::exchange(seen, accepted) || server.open_connections() > 0) used = clock.now();
  }
}

}  // namespace

int run_web_process(int argc, const char* const* argv) {
  const auto parent = argc == 5 ? parse_u64(argv[2]) : std::nullopt;
  if (!parent) return kBroken;
  UniqueFd listening(kWebListenerFd), daemon(kWebDaemonFd);
  ::mallopt(M_ARENA_MAX, 1);  // each arena takes 64 MiB of the address space that is limited here
  if (!reader::confine_server(static_cast<int>(*parent), limits())) return kBroken;
  auto listener = Listener::adopt(std::move(listening));
  if (!listener) return kBroken;
  SiteConfig config;
  config.data_dir = argv[3];
  auto patterns = OperationPatterns::of_text(argv[4]);
  if (!patterns) return kBroken;
  config.patterns = std::move(*patterns);
  config.daemon = std::make_shared<DaemonLink>(std::move(daemon));
  auto server = start_site(std::move(*listener), config);
  if (!server) return kBroken;
  serve_until_idle(**server);
  return kGood;
}

}  // namespace oomw
