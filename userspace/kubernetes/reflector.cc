// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/reflector.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace oomw {
namespace {

constexpr int kPageSize = 500;
constexpr double kWatchSeconds = 300;
constexpr double kWatchJitter = 60;

}  // namespace

std::string url_encode(std::string_view text) {
  if (text.empty()) return "";  // curl_easy_escape() takes a length of 0 as strlen()
  const std::unique_ptr<char, decltype(&curl_free)> encoded(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  OOMW_CHECK(encoded != nullptr);
  return encoded.get();
}

std::string pods_path(const std::string& node) {
  return "/api/v1/pods?fieldSelector=" + url_encode("spec.nodeName=" + node);
}

std::string Reflector::path(const std::string& node, double jitter) const {
  const std::string pods = pods_path(node);
  if (state_ == State::kWatching) {
    return fmt::format("{}&watch=1&allowWatchBookmarks=true&timeoutSeconds={:.0f}&resourceVersion={}", pods,
                       kWatchSeconds + kWatchJitter * jitter, url_encode(resource_version_));
  }
  const std::string page = fmt::format("{}&limit={}", pods, kPageSize);
  if (!continue_token_.empty()) return page + "&continue=" + url_encode(continue_token_);
  return wants_newest_ ? page : page + "&resourceVersion=0";
}

bool Reflector::on_page(const ListEnd& end) {
  is_token_retried_ = false;
  continue_token_ = end.continue_token;
  if (!continue_token_.empty()) return false;
  resource_version_ = end.resource_version;
  state_ = State::kWatching;
  return true;
}

void Reflector::on_watch_event(const WatchEvent& event) {
  if (!event.resource_version.empty()) resource_version_ = event.resource_version;
  is_token_retried_ = false;
  backoff_.reset();
}

void Reflector::on_watch_end(MonotonicTime now, double random) {
  if (now - begun_ < kMinWatch) {
    due_ = now + backoff_.next(random);
    return;
  }
  backoff_.reset();
  due_ = now;
}

void Reflector::list_again() {
  state_ = State::kListing;
  continue_token_.clear();
}

void Reflector::on_failure(ApiError error, Nanoseconds retry_after, MonotonicTime now, double random) {
  const bool is_first_failure = backoff_.failures() == 0;
  // A watch from the same place would bring the unreadable event again; a list reads past it.
  const bool is_unreadable = error == ApiError::kMalformed || error == ApiError::kTooLarge;
  if (state_ == State::kListing || error == ApiError::kGone || is_unreadable) list_again();
  if (error == ApiError::kGone) wants_newest_ = true;
  if (error == ApiError::kUnauthorized && !is_token_retried_) {
    is_token_retried_ = true;
    due_ = now;
    return;
  }
  const Nanoseconds wait = backoff_.next(random);
  const bool is_plain_relist = error == ApiError::kGone && is_first_failure;
  due_ = now + (is_plain_relist ? Nanoseconds(0) : std::max(wait, retry_after));
}

}  // namespace oomw
