// SPDX-License-Identifier: Apache-2.0
#include "sinks/outbox.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread_setup.h"
#include "store/directory_names.h"
#include "store/incident_index.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxFiles = 1'000;  // of one incident
constexpr Nanoseconds kIdle = std::chrono::seconds(60);

std::uint64_t bytes_of(const std::string& directory) {
  std::uint64_t sum = 0;
  const Result<std::vector<std::string>> names = list_directory(directory, kMaxFiles);
  if (!names) return 0;
  for (const std::string& name : *names) {
    struct stat status {};
    if (::lstat((directory + "/" + name).c_str(), &status) == 0) sum += static_cast<std::uint64_t>(status.st_size);
  }
  return sum;
}

}  // namespace

Outbox::Outbox(std::string name, const std::string& data_dir, OutboxBudget budget,
               std::unique_ptr<Destination> destination, std::shared_ptr<std::atomic<bool>> stopping,
               SinkHealth& health, const Clock& clock)
    : name_(std::move(name)),
      root_(data_dir + "/incidents"),
      destination_(std::move(destination)),
      stopping_(std::move(stopping)),
      health_(health),
      clock_(clock),
      queue_(budget, destination_->is_newest_first()),
      thread_([this] { run(); }) {}

Outbox::~Outbox() {
  {
    const std::lock_guard lock(mutex_);
    *stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Outbox::publish(const Incident& incident, const StoredAt& at) {
  if (at.is_revision && !destination_->takes_revisions()) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.add(std::string(base_name(at.directory)), incident.time,
               clock_.now() + (at.is_revision ? kRevisionDelay : Nanoseconds()));
  }
  changed_.notify_all();
}

bool Outbox::holds(const std::string& directory_name) const {
  const std::lock_guard lock(mutex_);
  return !is_scanned_ || queue_.contains(directory_name);
}

SinkStats Outbox::stats() const {
  const std::lock_guard lock(mutex_);
  SinkStats stats = stats_;
  stats.waiting = queue_.size();
  stats.oldest_unsent = queue_.oldest();
  return stats;
}

void Outbox::run() {
  set_up_thread("oomw-" + name_.substr(0, 10));
  scan();
  while (!*stopping_) {
    measure();
    drop_over_budget();
    if (const auto name = take()) handle(*name);
  }
}

// Whether the incident in this directory is still to be delivered.
bool Outbox::is_due(const std::string& directory) const {
  const auto marker = read_marker(directory, name_);
  if (!marker) return true;
  // A first form that was given up stays so: a revision is not what the destination wanted.
  return destination_->takes_revisions() && marker->revision != revision_of(directory);
}

void Outbox::scan() {
  std::vector<std::string> names =
      list_directory(root_, IncidentIndex::kMaxEntries).value_or(std::vector<std::string>());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (*stopping_) return;
    if (!is_incident_directory(name) || revision_of(root_ + "/" + name).empty() || !is_due(root_ + "/" + name))
      continue;
    const std::lock_guard lock(mutex_);
    queue_.add(name, time_of_directory(name).value_or(WallTime{}), clock_.now());
  }
  const std::lock_guard lock(mutex_);
  is_scanned_ = true;
}

void Outbox::measure() {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    names = queue_.unmeasured();
  }
  for (const std::string& name : names) {
    const std::uint64_t bytes = bytes_of(root_ + "/" + name);
    const std::lock_guard lock(mutex_);
    queue_.set_bytes(name, bytes);
  }
}

void Outbox::drop_over_budget() {
  std::vector<OutboxQueue::Over> over;
  {
    const std::lock_guard lock(mutex_);
    over = queue_.take_over_budget(clock_.wall_now());
  }
  for (const auto& [name, reason] : over) {
    bury(name, reason,
         reason == DeliveryReason::kAge ? "not delivered within the time that it may wait"
                                        : "more bytes wait than may: the oldest incidents are given up");
  }
}

// Waits for the next one to be due, for kIdle at most. nullopt: see what has changed, then call again.
std::optional<std::string> Outbox::take() {
  std::unique_lock lock(mutex_);
  if (queue_.size() == 0 && queue_.take_overfull()) {
    lock.unlock();
    scan();
    lock.lock();
  }
  const MonotonicTime now = clock_.now();
  if (auto name = queue_.take(now)) return name;
  const Nanoseconds wait = queue_.due() ? std::min(*queue_.due() - now, kIdle) : kIdle;
  if (!*stopping_) changed_.wait_for(lock, std::max(wait, Nanoseconds(0)));
  return std::nullopt;
}

void Outbox::handle(const std::string& name) {
  const std::string directory = root_ + "/" + name;
  DeliveryMarker marker = read_marker(directory, name_).value_or(DeliveryMarker{});
  marker.revision = revision_of(directory);
  const bool is_there = !marker.revision.empty();
  const std::optional<Delivery> delivery =
      is_there && is_due(directory) ? std::optional(deliver(directory, marker)) : std::nullopt;
  if (!delivery) {  // removed by someone, or delivered already
    const std::lock_guard lock(mutex_);
    return queue_.on_nothing_to_do();
  }
  finish(name, *delivery, std::move(marker));
}

Delivery Outbox::deliver(const std::string& directory, const DeliveryMarker& marker) {
  Result<Incident> incident = read_incident(directory);
  if (!incident) return Delivery::refused(DeliveryReason::kUnreadable, printable(incident.error().message));
  return destination_->deliver(StoredIncident{directory, std::move(*incident)}, marker.sent + 1);
}

// The marker first: what is counted as sent is not sent again after a kill -9.
void Outbox::finish(const std::string& name, const Delivery& delivery, DeliveryMarker marker) {
  if (*stopping_ && delivery.outcome == Delivery::Outcome::kRetry) return;  // given up because this ends
  const bool is_done = delivery.outcome == Delivery::Outcome::kSent || delivery.outcome == Delivery::Outcome::kNothing;
  if (is_done) {
    marker.state = MarkerState::kSent;
    marker.reason = DeliveryReason::kNone;
    marker.detail.clear();
    if (delivery.outcome == Delivery::Outcome::kSent) ++marker.sent;
    marker.at = clock_.wall_now();
    (void)write_marker(root_ + "/" + name, name_, marker);
  }
  // A refusal of one incident is an answer.
  if (delivery.outcome != Delivery::Outcome::kNothing) {
    health_.note(name_, delivery.outcome == Delivery::Outcome::kRetry, delivery);
  }
  if (delivery.outcome == Delivery::Outcome::kRefused) bury(name, delivery.reason, delivery.detail);
  const double random = std::uniform_real_distribution<double>(0, 1)(random_);
  const std::lock_guard lock(mutex_);
  if (delivery.outcome == Delivery::Outcome::kSent) ++stats_.sent;
  if (delivery.outcome == Delivery::Outcome::kRetry) ++stats_.failed[delivery.reason];
  queue_.on_delivery(delivery, clock_.now(), random);
  queue_.pause_until(clock_.now() + destination_->pause());
}

void Outbox::bury(const std::string& name, DeliveryReason reason, const std::string& detail) {
  const std::string directory = root_ + "/" + name;
  DeliveryMarker marker = read_marker(directory, name_).value_or(DeliveryMarker{});
  marker.state = MarkerState::kDead;
  marker.revision = revision_of(directory);
  marker.reason = reason;
  marker.detail = detail;
  marker.at = clock_.wall_now();
  (void)write_marker(directory, name_, marker);
  if (dead_lines_.take(clock_.now())) {
    log::warn("sink {}: incident {} will not be delivered ({}): {}", name_, id_of_directory(name), to_string(reason),
              printable(detail));
  }
  const std::lock_guard lock(mutex_);
  ++stats_.dead_lettered[reason];
}

}  // namespace oomw
