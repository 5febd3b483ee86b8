// SPDX-License-Identifier: Apache-2.0
#include "reader/reader_group.h"

#include <algorithm>

namespace oomw::reader {

ReaderGroup::ReaderGroup(const Clock& clock, const ReaderConfig& config, std::size_t count) : users_(count) {
  for (std::size_t i = 0; i < count; ++i) readers_.push_back(std::make_unique<Reader>(clock, config));
}

std::size_t ReaderGroup::enter() {
  const std::lock_guard lock(mutex_);
  const auto mine = static_cast<std::size_t>(std::ranges::min_element(users_) - users_.begin());
  ++users_[mine];
  return mine;
}

ReaderGroup::Answer ReaderGroup::run(std::uint32_t kind, const std::string& parameters, std::span<const int> files,
                                     Nanoseconds time_limit, MonotonicTime deadline,
                                     std::span<const std::string> owners, Nanoseconds* cpu) {
  const std::size_t mine = enter();
  Answer answer = readers_[mine]->run(kind, parameters, files, time_limit, deadline, owners, cpu);
  const std::lock_guard lock(mutex_);
  --users_[mine];
  return answer;
}

void ReaderGroup::tick() {
  for (auto& reader : readers_) reader->tick();
}

std::vector<ReaderCounters> ReaderGroup::counters() const {
  std::vector<ReaderCounters> all;
  for (const auto& reader : readers_) all.push_back(reader->counters());
  return all;
}

}  // namespace oomw::reader
