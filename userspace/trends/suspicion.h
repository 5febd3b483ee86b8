// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace oomw {

// Whether a leak is reported while the process lives. It is judged anew at each reading, so what chance brings once in
// a hundred judgements does come up, and a load that doubles is growth for ten minutes: three of 33 healthy runs of
// half an hour were called. A real leak is called again and again, so growth counts only if every judgement for a third
// of the time saw it.
// Pure; the caller locks.
class Suspicion {
 public:
  static constexpr double kLastingShare = 1.0 / 3;

  // Call after each judgement. span_seconds: between the first and the last reading that count (LeakReport);
  // least_seconds of it are needed.
  void add(bool is_growing, double span_seconds, double least_seconds) {
    if (!is_growing) growing_since_.reset();
    if (is_growing && !growing_since_) growing_since_ = span_seconds;
    is_raised_ =
        is_growing && span_seconds >= least_seconds && span_seconds - *growing_since_ >= kLastingShare * span_seconds;
  }
  [[nodiscard]] bool is_raised() const { return is_raised_; }

 private:
  std::optional<double> growing_since_;  // the span at the first judgement since which all saw growth
  bool is_raised_ = false;
};

}  // namespace oomw
