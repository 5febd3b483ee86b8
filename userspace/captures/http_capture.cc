// SPDX-License-Identifier: Apache-2.0
#include "captures/http_capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "captures/capture_event.h"
#include "captures/endpoint_cache.h"
#include "captures/endpoint_fetch.h"
#include "captures/endpoint_finder.h"
#include "captures/http_fetch.h"
#include "captures/memstats_budget.h"
#include "captures/memstats_fetch.h"
#include "captures/profile_check.h"
#include "captures/provenance.h"
#include "facts/profile_facts.h"
#include "pprof/codec.h"
#include "process/target_process.h"

namespace oomw {
namespace {

struct Evidence {
  MonotonicTime taken;
  ProfileFile body;
  CheckedProfile checked;
  PprofEndpoint endpoint;
  MemStats memstats = {};
  bool is_memstats_left_out = false;  // not requested: the budget for all programs was used up
};

using Attempt = tl::expected<Evidence, CaptureFailure>;
using AnnotatedPort = std::optional<std::uint16_t>;

void keep_most_telling(std::optional<CaptureFailure>& kept, CaptureFailure candidate) {
  if (!kept || candidate.reason > kept->reason) kept = std::move(candidate);
}

CaptureReason reason_of_status(FetchStatus status) {
  switch (status) {
    case FetchStatus::kRefused:
      return CaptureReason::kRefused;
    case FetchStatus::kTimeout:
      return CaptureReason::kTimeout;
    case FetchStatus::kHttpStatus:
      return CaptureReason::kHttpStatus;
    case FetchStatus::kRedirect:
      return CaptureReason::kRedirect;
    case FetchStatus::kTooLarge:
      return CaptureReason::kTooLarge;
    case FetchStatus::kNotHttp:
      return CaptureReason::kNotAProfile;
    case FetchStatus::kTruncated:
      return CaptureReason::kTruncated;
    case FetchStatus::kNetns:
      return CaptureReason::kNetns;
    case FetchStatus::kVetoed:
    case FetchStatus::kOk:
    case FetchStatus::kInternal:
      break;
  }
  return CaptureReason::kNoEndpoint;
}

// The process's end explains these better than the socket's error does.
bool is_explained_by_death(CaptureReason reason) {
  return reason == CaptureReason::kRefused || reason == CaptureReason::kTruncated || reason == CaptureReason::kNetns ||
         reason == CaptureReason::kNoEndpoint;
}

}  // namespace

struct HttpCapture::Impl {
  HttpCaptureConfig config;
  const Clock& clock;
  MemoryBudget* memory;
  reader::Reader* reader;
  EndpointCache cache;
  MemStatsBudget memstats_budget;

  // Half of what is left, so that one hanging listener leaves time for the next; the last gets all.
  [[nodiscard]] MonotonicTime share_of(MonotonicTime deadline, bool is_last) const {
    const MonotonicTime now = clock.now();
    return is_last ? deadline : now + (deadline - now) / 2;
  }

  [[nodiscard]] std::string url(const PprofEndpoint& endpoint) const {
    return fmt::format("{} in netns {}", url_of(endpoint.address, endpoint.port, config.path), endpoint.netns_inode);
  }

  // The port of the pod's annotation first, then those where such endpoints mostly are.
  [[nodiscard]] std::vector<std::uint16_t> ports_of(AnnotatedPort annotated) const {
    std::vector<std::uint16_t> ports = config.ports;
    if (!annotated) return ports;
    std::erase(ports, *annotated);
    ports.insert(ports.begin(), *annotated);
    return ports;
  }

  Result<std::vector<PprofEndpoint>> resolve(const TargetProcess& process, AnnotatedPort annotated) {
    ASSIGN_OR_RETURN(auto endpoints, find_endpoints(process, ports_of(annotated)));
    cache.put(process.key(), endpoints, clock.now(), annotated);
    return endpoints;
  }

  Attempt try_endpoint(const TargetProcess& process, const PprofEndpoint& endpoint, MonotonicTime deadline) {
    const auto failed = [&](CaptureReason reason, const std::string& detail) {
      if (is_explained_by_death(reason) && !process.is_alive()) reason = CaptureReason::kGone;
      return tl::make_unexpected(CaptureFailure{reason, url(endpoint) + ": " + detail, process.key()});
    };
    auto body = ProfileFile::make(memory);
    if (!body) return failed(CaptureReason::kReaderFailed, body.error().message);
    Result<> stored;
    const auto store = [&](std::string_view piece) { return (stored = body->append(piece)).has_value(); };
    const FetchResult answer =
        fetch_endpoint(process, endpoint, config.path, deadline - clock.now(), config.max_body_bytes, 0, store);
    const MonotonicTime taken = clock.now();
    if (answer.status == FetchStatus::kVetoed)
      return failed(CaptureReason::kNoEndpoint, "the process does not hold this listener");
    if (!stored) return failed(CaptureReason::kTimeout, stored.error().message);
    if (answer.status != FetchStatus::kOk) return failed(reason_of_status(answer.status), answer.detail);
    const auto checked = check_profile(*body, config.patterns, memory, reader, deadline);
    if (!checked) return failed(checked.error().reason, checked.error().detail);
    return Evidence{taken, std::move(*body), *checked, endpoint};
  }

  Attempt try_endpoints(const TargetProcess& process, std::vector<PprofEndpoint> endpoints, AnnotatedPort annotated,
                        MonotonicTime deadline) {
    std::optional<CaptureFailure> failure;
    for (std::size_t i = 0; i < endpoints.size() && clock.now() < deadline; ++i) {
      auto attempt = try_endpoint(process, endpoints[i], share_of(deadline, i + 1 == endpoints.size()));
      if (attempt) {
        std::rotate(endpoints.begin(), endpoints.begin() + static_cast<std::ptrdiff_t>(i),
                    endpoints.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        cache.put(process.key(), std::move(endpoints), attempt->taken, annotated);
        return attempt;
      }
      keep_most_telling(failure, std::move(attempt.error()));
    }
    if (failure) return tl::make_unexpected(std::move(*failure));
    return tl::make_unexpected(CaptureFailure{
        CaptureReason::kNoEndpoint,
        fmt::format("pid {} holds no listener on port {}", process.key().pid, fmt::join(ports_of(annotated), ", ")),
        process.key()});
  }

  Attempt try_target(const CaptureTarget& target, MonotonicTime deadline) {
    const auto process = TargetProcess::open(config.proc_root, target.process);
    if (!process) {
      return tl::make_unexpected(
          CaptureFailure{CaptureReason::kGone, printable(process.error().message), target.process});
    }
    const AnnotatedPort annotated = target.annotated_port;
    if (auto known = cache.find(process->key(), clock.now(), annotated)) {
      const bool is_known_to_have_none = known->empty();
      auto attempt = try_endpoints(*process, std::move(*known), annotated, deadline);
      if (attempt || is_known_to_have_none || attempt.error().reason > CaptureReason::kRefused) {
        return attempt;
      }
    }
    // Nothing known, or no longer true: the listener was closed or moved.
    auto endpoints = resolve(*process, annotated);
    if (!endpoints) {
      const bool is_gone = !process->is_alive();
      return tl::make_unexpected(CaptureFailure{is_gone ? CaptureReason::kGone : CaptureReason::kNoEndpoint,
                                                printable(endpoints.error().message), process->key()});
    }
    return try_endpoints(*process, std::move(*endpoints), annotated, deadline);
  }

  // The profile is already complete: no failure here changes it.
  void add_memstats(Evidence& evidence, const CaptureRequest& request, const CaptureTarget& target,
                    MonotonicTime deadline) {
    const ProfileFacts& facts = evidence.checked.facts;
    if (facts.of != RuntimeKind::kGo || !may_ask_memstats(request, facts.sample_count)) return;
    const auto process = TargetProcess::open(config.proc_root, target.process);
    if (!process) return;
    evidence.is_memstats_left_out = !memstats_budget.take(clock.now());
    if (evidence.is_memstats_left_out) return;
    evidence.memstats =
        fetch_memstats(*process, evidence.endpoint, config.path, deadline - clock.now(), config.max_body_bytes);
  }

  CaptureOutcome succeed(const CaptureRequest& request, CaptureTarget target, Evidence evidence,
                         CaptureFinished event) {
    const std::string comment =
        provenance_comment(CaptureMethod::kHttp, request, target, clock.wall_of(evidence.taken));
    ProfileFacts& facts = evidence.checked.facts;
    const bool is_go = facts.of == RuntimeKind::kGo;
    std::string detail =
        (is_go ? "heap profile as of the process's last GC, from " : "heap profile, not of Go, from ") +
        url(evidence.endpoint);
    if (evidence.is_memstats_left_out) detail += "; not asked for MemStats, too many others just were";
    // The endpoint only gives what was in use at the last GC, so both series are the same.
    event =
        taken(std::move(event), evidence.taken,
              {target.process, facts.of, facts.inuse_bytes, facts.inuse_bytes, facts.sample_count, CaptureReason::kNone,
               std::move(detail), std::move(evidence.memstats), std::move(facts.components), std::move(facts.sites)});
    // Without the comment it is still evidence.
    (void)evidence.body.append(pprof::comment_member(evidence.checked.string_count, {comment}));
    return {std::move(event), "", std::move(evidence.body), evidence.checked.string_count + 1};
  }
};

HttpCapture::HttpCapture(HttpCaptureConfig config, const Clock& clock, MemoryBudget* memory, reader::Reader* reader)
    : impl_(new Impl{std::move(config), clock, memory, reader, {}, {}}) {}
HttpCapture::~HttpCapture() = default;

CaptureOutcome HttpCapture::capture(const CaptureRequest& request) {
  const MonotonicTime started = impl_->clock.now();
  const MonotonicTime deadline = std::min(request.deadline, started + impl_->config.timeout);
  CaptureFinished event = begin_capture(request, CaptureMethod::kHttp, started);
  std::optional<CaptureFailure> failure;
  for (std::size_t i = 0; i < request.targets.size(); ++i) {
    const CaptureTarget& target = request.targets[i];
    if (impl_->clock.now() >= deadline) {
      keep_most_telling(failure, {CaptureReason::kTimeout, "no time left to ask", target.process});
      break;
    }
    auto attempt = impl_->try_target(target, impl_->share_of(deadline, i + 1 == request.targets.size()));
    if (attempt) impl_->add_memstats(*attempt, request, target, deadline);
    if (attempt) return impl_->succeed(request, target, std::move(*attempt), std::move(event));
    keep_most_telling(failure, std::move(attempt.error()));
  }
  if (!failure) failure = CaptureFailure{CaptureReason::kNoEndpoint, "no process is known in the cgroup", {}};
  return {not_taken(std::move(event), impl_->clock.now(), std::move(*failure)), ""};
}

void HttpCapture::prepare(const CaptureRequest& request) {
  for (const auto& target : request.targets) {
    const auto process = TargetProcess::open(impl_->config.proc_root, target.process);
    if (!process || impl_->cache.find(process->key(), impl_->clock.now(), target.annotated_port)) {
      continue;
    }
    (void)impl_->resolve(*process, target.annotated_port);  // capture() resolves again and reports why it cannot
  }
}

std::uint64_t HttpCapture::memstats_left_out() const { return impl_->memstats_budget.left_out(); }

void HttpCapture::forget(ProcessKey process) { impl_->cache.forget(process); }

}  // namespace oomw
