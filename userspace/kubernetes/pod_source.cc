// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/pod_source.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/worker_pool.h"
#include "kubernetes/api_request.h"
#include "kubernetes/held_pods.h"
#include "kubernetes/line_splitter.h"
#include "kubernetes/list_splitter.h"
#include "kubernetes/reflector.h"
#include "kubernetes/token_file.h"
#include "kubernetes/warnings.h"

namespace oomw {
namespace {

constexpr Nanoseconds kListTimeout = std::chrono::minutes(2);
constexpr Nanoseconds kListSilence = std::chrono::seconds(20);
constexpr Nanoseconds kWatchTimeout = std::chrono::seconds(400);  // the server ends it after 300 to 360
constexpr Nanoseconds kMaxSleep = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kNoRoom(20);
constexpr std::size_t kBatch = 32;  // pods handed over at once

bool is_answer(ApiError error) { return error >= ApiError::kUnauthorized && error <= ApiError::kHttp; }

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

}  // namespace

struct PodSource::Impl {
  Impl(ApiTarget api, std::size_t max_pods, const Clock& the_clock, Post to, Changed when_changed)
      : target(std::move(api)),
        clock(the_clock),
        post(std::move(to)),
        changed(std::move(when_changed)),
        token(target.token_file),
        held(max_pods) {
    curl_global_init(CURL_GLOBAL_NOTHING);
    multi.reset(curl_multi_init());
    OOMW_CHECK(multi != nullptr);
  }

  void run();
  void start_due(MonotonicTime now);
  void start_request(MonotonicTime now);
  [[nodiscard]] ApiCall list_call();
  [[nodiscard]] ApiCall watch_call();
  [[nodiscard]] std::unique_ptr<ApiRequest> begin(ApiCall call, MonotonicTime now, ApiOutcome& refused);
  void collect();
  void finish_request(ApiOutcome outcome);
  void finish_list(ApiOutcome& outcome);
  void fail_request(const ApiOutcome& outcome, MonotonicTime now);
  [[nodiscard]] Nanoseconds sleep_for(MonotonicTime now);
  void on_item(std::string_view json);
  [[nodiscard]] Result<> on_line(std::string_view json);
  void hold(PodSeen pod);
  void pass_on(std::optional<Event> event);
  void pass_on_current(bool is_current);
  void flush();
  void note_contact();
  void note_error(const ApiOutcome& outcome);
  void publish();
  double random() { return std::uniform_real_distribution<double>()(generator); }

  const ApiTarget target;
  const Clock& clock;
  const Post post;
  const Changed changed;
  std::atomic<bool> is_stopping = false;

  // Used only by the source's thread.
  std::unique_ptr<CURLM, FreeMulti> multi;
  TokenFile token;
  Reflector reflector;
  HeldPods held;
  std::mt19937 generator{std::random_device()()};
  ListSplitter list;
  LineSplitter lines;
  std::unique_ptr<ApiRequest> request;  // the list or the watch
  std::vector<Event> batch;
  std::optional<ApiError> watch_error;  // of an ERROR event
  std::optional<bool> last_current;     // the last one passed on
  PodSourceStats last_stats;
  Warnings warnings;

  mutable std::mutex mutex;
  PodSourceStats shared_stats;  // guarded by mutex
  WorkerPool thread{"oomw-k8s", 1, 1};
};

// --- the loop

void PodSource::Impl::run() {
  while (!is_stopping) {
    const MonotonicTime now = clock.now();
    start_due(now);
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    collect();
    flush();
    publish();
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(sleep_for(clock.now())).count();
    curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(ms), nullptr);
  }
  if (request) curl_multi_remove_handle(multi.get(), request->handle());
}

void PodSource::Impl::start_due(MonotonicTime now) {
  if (!request && reflector.due() <= now) start_request(now);
}

Nanoseconds PodSource::Impl::sleep_for(MonotonicTime now) {
  Nanoseconds sleep = kMaxSleep;
  if (!request) sleep = std::min(sleep, reflector.due() - now);
  return std::max(sleep, Nanoseconds(0));
}

std::unique_ptr<ApiRequest> PodSource::Impl::begin(ApiCall call, MonotonicTime now, ApiOutcome& refused) {
  const Result<std::string> bearer = token.get(now);
  if (!bearer.has_value()) {
    refused = {ApiError::kToken, bearer.error().message, {}};
    return nullptr;
  }
  auto begun = std::make_unique<ApiRequest>(target, *bearer, std::move(call));
  curl_multi_add_handle(multi.get(), begun->handle());
  return begun;
}

void PodSource::Impl::start_request(MonotonicTime now) {
  const bool is_list = reflector.state() == Reflector::State::kListing;
  if (is_list && reflector.is_first_page()) held.begin_list();
  reflector.on_begun(now);
  ApiOutcome refused;
  request = begin(is_list ? list_call() : watch_call(), now, refused);
  if (!request) return fail_request(refused, now);
  const std::lock_guard lock(mutex);
  ++(is_list ? shared_stats.lists : shared_stats.watches);
  shared_stats.state = is_list ? "listing" : "watching";
}

ApiCall PodSource::Impl::list_call() {
  list = ListSplitter();
  const auto take = [this](std::string_view bytes) {
    note_contact();
    return list.feed(bytes, [this](std::string_view json) { on_item(json); });
  };
  return {reflector.path(target.node, 0), "", kListTimeout, kListSilence, {}, take};
}

ApiCall PodSource::Impl::watch_call() {
  lines = LineSplitter();
  const auto answered = [this] {
    note_contact();
    if (warnings.on_success()) log::info("Kubernetes API: it answers");
    pass_on_current(true);
  };
  const auto take = [this](std::string_view bytes) {
    note_contact();
    return lines.feed(bytes, [this](std::string_view json) { return on_line(json); });
  };
  return {reflector.path(target.node, random()), "", kWatchTimeout, Nanoseconds(0), answered, take};
}

void PodSource::Impl::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;
    curl_multi_remove_handle(multi.get(), easy);
    if (request && request->handle() == easy) finish_request(request->outcome(code));
  }
}

// --- list and watch

void PodSource::Impl::finish_request(ApiOutcome outcome) {
  request.reset();
  const bool was_list = reflector.state() == Reflector::State::kListing;
  if (is_answer(outcome.error)) note_contact();
  if (const auto error = std::exchange(watch_error, std::nullopt)) outcome.error = *error;
  if (outcome.error == ApiError::kNone && was_list) finish_list(outcome);
  if (outcome.error != ApiError::kNone) return fail_request(outcome, clock.now());
  if (!was_list) reflector.on_watch_end(clock.now(), random());
}

// Called for each page of the list. `outcome` becomes an error if the page cannot be read.
void PodSource::Impl::finish_list(ApiOutcome& outcome) {
  const Result<std::string_view> rest = list.finish();
  const Result<ListEnd> end = rest.has_value() ? decode_list_end(*rest) : tl::make_unexpected(rest.error());
  if (!end.has_value()) {
    outcome = {ApiError::kMalformed, end.error().message, {}};
    return;
  }
  if (!reflector.on_page(*end)) return;
  for (Event& gone : held.end_list(clock.now())) pass_on(std::move(gone));
}

void PodSource::Impl::fail_request(const ApiOutcome& outcome, MonotonicTime now) {
  if (outcome.error == ApiError::kUnauthorized) token.forget();
  reflector.on_failure(outcome.error, outcome.retry_after, now, random());
  // A single failure is just a connection that was closed; the next try is a second away.
  if (reflector.failures() > 1) pass_on_current(false);
  note_error(outcome);
}

void PodSource::Impl::on_item(std::string_view json) {
  Result<PodSeen> pod = decode_pod(json);
  if (!pod.has_value()) return note_error({ApiError::kMalformed, pod.error().message, {}});
  hold(std::move(*pod));
}

Result<> PodSource::Impl::on_line(std::string_view json) {
  ASSIGN_OR_RETURN(WatchEvent event, decode_watch_line(json));
  if (event.kind == WatchKind::kError) {
    const ApiError error = error_of_status(event.code);
    watch_error = error == ApiError::kNone ? ApiError::kMalformed : error;
    return fail(ErrorCode::kUnavailable, "the watch was ended: " + std::to_string(event.code) + " " + event.message);
  }
  reflector.on_watch_event(event);
  if (event.kind == WatchKind::kDeleted) {
    pass_on(held.on_gone(event.pod.uid, clock.now()));
  } else if (event.kind != WatchKind::kBookmark) {
    hold(std::move(event.pod));
  }
  return {};
}

void PodSource::Impl::hold(PodSeen pod) {
  pod.time = clock.now();
  pod.wall_offset_ns = clock.wall_now().ns - pod.time.ns;
  pass_on(held.on_pod(std::move(pod)));
}

// --- to the core thread

void PodSource::Impl::pass_on(std::optional<Event> event) {
  if (!event) return;
  batch.push_back(std::move(*event));
  if (batch.size() >= kBatch) flush();
}

void PodSource::Impl::pass_on_current(bool is_current) {
  if (last_current == is_current) return;
  last_current = is_current;
  pass_on(PodsCurrent{clock.now(), is_current});
}

void PodSource::Impl::flush() {
  if (batch.empty()) return;
  const std::vector<Event> full = std::exchange(batch, {});
  while (!is_stopping && !post(full)) std::this_thread::sleep_for(kNoRoom);
}

// --- for other threads

void PodSource::Impl::note_contact() {
  const std::lock_guard lock(mutex);
  shared_stats.last_contact = clock.now();
}

void PodSource::Impl::note_error(const ApiOutcome& outcome) {
  const std::string kind(to_string(outcome.error));
  const std::string text = kind + ": " + outcome.detail;
  const std::lock_guard lock(mutex);
  ++shared_stats.errors[kind];
  if (warnings.on_error(outcome.error, clock.now())) log::warn("Kubernetes API: {}", text);
  shared_stats.last_error = text;
  if (!request) shared_stats.state = "waiting";
}

void PodSource::Impl::publish() {
  PodSourceStats now;
  {
    const std::lock_guard lock(mutex);
    shared_stats.pods = held.size();
    shared_stats.pods_turned_away = held.turned_away();
    now = shared_stats;
  }
  now.last_contact = last_stats.last_contact;  // does not count as a change by itself
  if (now == last_stats) return;
  last_stats = std::move(now);
  changed();
}

PodSource::PodSource(ApiTarget target, std::size_t max_pods, const Clock& clock, Post post, Changed changed)
    : impl_(std::make_unique<Impl>(std::move(target), max_pods, clock, std::move(post), std::move(changed))) {
  OOMW_CHECK(impl_->thread.post([impl = impl_.get()] { impl->run(); }));
}

PodSource::~PodSource() {
  impl_->is_stopping = true;
  curl_multi_wakeup(impl_->multi.get());
}

PodSourceStats PodSource::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->shared_stats;
}

Result<std::string> check_api(const ApiTarget& target, Nanoseconds timeout, const Clock& clock) {
  TokenFile token(target.token_file);
  ASSIGN_OR_RETURN(const std::string bearer, token.get(clock.now()));
  ListSplitter list;
  const auto take = [&list](std::string_view bytes) { return list.feed(bytes, [](std::string_view) {}); };
  const std::string path = pods_path(target.node) + "&limit=1";
  const ApiOutcome outcome = ApiRequest(target, bearer, {path, "", timeout, {}, {}, take}).perform();
  if (outcome.error != ApiError::kNone) {
    return fail(ErrorCode::kUnavailable, target.server + ": " + outcome.detail);
  }
  ASSIGN_OR_RETURN(const std::string_view rest, list.finish());
  RETURN_IF_ERROR(decode_list_end(rest));
  return target.server + " lists the pods of node " + target.node;
}

}  // namespace oomw
