// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "events/event.h"
#include "incident/incident.h"

namespace oomw::cli {

// Which forms of an incident are worth a line of the journal. It is written at once, and what is read of the victim
// within seconds may change the answer: the journal would have the first one for ever. Bounded: of the kMaxRemembered
// incidents that were announced last.
class Announced {
 public:
  static constexpr std::size_t kMaxRemembered = 256;

  enum class News {
    kNone,     // the same cause, and the same code or holder
    kFirst,    // the incident itself
    kChanged,  // the cause, or whom it names
  };
  // is_revision: it was written before. One that was not announced here has no news.
  [[nodiscard]] News note(const Incident& incident, bool is_revision);

 private:
  struct Answered {
    std::string id, cause, culprit;
  };
  std::list<Answered> last_;  // newest first
};

// Which events only say again what was said of their process: a capture that fails, or is not taken, for the reason of
// the one before; growth that is not half as much again; that a burst would reach the limit, at the same level within
// the same ten minutes. Bounded like Announced.
class Repeats {
 public:
  [[nodiscard]] bool is_repeat(const Event& event);

 private:
  struct Said {
    std::string what;  // of whom, and why
    std::uint64_t bytes;
  };
  std::list<Said> last_;  // newest first
};

}  // namespace oomw::cli
