// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel_source.h"
#include "support/child_process.h"
#include "support/test_cgroup.h"

namespace oomw::test {

// Loads the programs and collects what they send. Skips, saying why, where BPF or the memory
// hierarchy is refused.
class KernelTest : public ::testing::Test {
 public:
  static void TearDownTestSuite() { shared().clear(); }

 protected:
  void load(const KernelConfig& config = {}) { take(KernelSource::make(config)); }

  // The source that a test of this suite has loaded as `name` before; loading one takes an emulated CPU
  // up to three seconds. For tests that check their own processes and cgroups only.
  void share(const std::string& name, const KernelConfig& config) {
    auto& source = shared()[name];
    if (!source) source = KernelSource::make(config);
    take(source);
    while (source_->drain([](const Event&) {}, 256) > 0) continue;  // what came between the tests
    lost_before_ = source_->lost();
  }

  // While this test had the source.
  [[nodiscard]] std::uint64_t lost(LostStage stage) const {
    auto before = lost_before_.find(stage);
    return source_->lost().at(stage) - (before == lost_before_.end() ? 0 : before->second);
  }

  // False and a printed reason: return from the test.
  [[nodiscard]] static std::string refusal_of(const KernelSource& source, const std::string& feature) {
    for (const FeatureStatus& status : source.features()) {
      if (status.feature != feature || status.rung < Rung::kFiles) continue;
      return feature + ": " + (status.refused.empty() ? "no rung" : status.refused.back().reason);
    }
    return {};
  }

  [[nodiscard]] static Rung rung_of(const KernelSource& source, const std::string& feature) {
    for (const FeatureStatus& status : source.features()) {
      if (status.feature == feature) return status.rung;
    }
    return Rung::kNone;
  }

  // Why a rung above the one in force is refused; "" where it is not.
  [[nodiscard]] static std::string refusal_of(const KernelSource& source, const std::string& feature, Rung rung) {
    for (const FeatureStatus& status : source.features()) {
      if (status.feature != feature) continue;
      for (const RefusedRung& refused : status.refused) {
        if (refused.rung == rung) return feature + " by " + std::string(to_string(rung)) + ": " + refused.reason;
      }
    }
    return {};
  }

  // The events so far and those within `patience` of silence.
  void collect(std::chrono::milliseconds patience = std::chrono::milliseconds(50)) {
    pollfd wait{source_->ring_fd(), POLLIN, 0};
    while (::poll(&wait, 1, static_cast<int>(patience.count())) > 0) {
      source_->drain([this](Event event) { events_.push_back(std::move(event)); }, 256);
    }
  }

  // A child in that cgroup to its end, and the events until then.
  void run_in(const TestCgroup* cgroup, std::function<int()> body) {
    ChildProcess child(cgroup, std::move(body));
    child.go();
    ASSERT_EQ(child.wait(), 0);
    collect();
  }

  template <typename T, typename Predicate>
  [[nodiscard]] std::vector<T> events_where(Predicate predicate) const {
    std::vector<T> found;
    for (const Event& event : events_) {
      const T* typed = std::get_if<T>(&event);
      if (typed != nullptr && predicate(*typed)) found.push_back(*typed);
    }
    return found;
  }

  std::shared_ptr<KernelSource> source_;
  std::unique_ptr<TestCgroup> cgroup_;
  std::vector<Event> events_;

 private:
  static std::map<std::string, std::shared_ptr<KernelSource>>& shared() {
    static std::map<std::string, std::shared_ptr<KernelSource>> sources;
    return sources;
  }

  void take(std::shared_ptr<KernelSource> source) {
    source_ = std::move(source);
    lost_before_.clear();
    cgroup_.reset();
  }

  LostCounts lost_before_;
};

// What a failed comparison of kills says: tests/outcomes.py knows it, and no second run excuses it.
constexpr char kLostKill[] = "lost kill: the kernel's own count is another one";

inline std::uint64_t mebibytes(std::uint64_t count) { return count << 20; }

}  // namespace oomw::test

// In a test body, after load() or share(): skips with the reason when `feature` has no program.
#define OOMW_NEED_OR_SKIP(feature)                                        \
  do {                                                                    \
    if (auto refusal = refusal_of(*source_, feature); !refusal.empty()) { \
      GTEST_SKIP() << refusal;                                            \
    }                                                                     \
    auto made = TestCgroup::make();                                       \
    if (!made) GTEST_SKIP() << made.error().message;                      \
    cgroup_ = std::move(*made);                                           \
  } while (0)

// The same on one rung. Some kernels have no fentry; tracepoints are there wherever programs are, and
// what the verifier refuses is a fault of ours anywhere.
#define OOMW_NEED_RUNG_OR_SKIP(feature, wanted)                        \
  do {                                                                 \
    OOMW_NEED_OR_SKIP(feature);                                        \
    if (rung_of(*source_, feature) == (wanted)) break;                 \
    auto refusal = refusal_of(*source_, feature, wanted);              \
    ASSERT_EQ(refusal.find("verifier"), std::string::npos) << refusal; \
    ASSERT_EQ(wanted, Rung::kFentry) << refusal;                       \
    GTEST_SKIP() << refusal;                                           \
  } while (0)

#define OOMW_LOAD_OR_SKIP(config, feature) \
  do {                                     \
    load(config);                          \
    OOMW_NEED_OR_SKIP(feature);            \
  } while (0)

#define OOMW_LOAD_RUNG_OR_SKIP(config, feature, wanted) \
  do {                                                  \
    load(config);                                       \
    OOMW_NEED_RUNG_OR_SKIP(feature, wanted);            \
  } while (0)

#define OOMW_SHARE_OR_SKIP(name, config, feature) \
  do {                                            \
    share(name, config);                          \
    OOMW_NEED_OR_SKIP(feature);                   \
  } while (0)

#define OOMW_SHARE_RUNG_OR_SKIP(config, feature, wanted) \
  do {                                                   \
    share(std::string(to_string(wanted)), config);       \
    OOMW_NEED_RUNG_OR_SKIP(feature, wanted);             \
  } while (0)
