// SPDX-License-Identifier: Apache-2.0
// A protocol on top of datagrams. Segments wait in a list until they are acknowledged, and the list is cut at its front
// only. A segment that was lost is never sent again, so it stays there, and all that come after it.
#include <cstring>

#include "pace.h"

namespace net {

struct ListNode {
  ListNode* next = this;
  ListNode* previous = this;

  void InsertBefore(ListNode* other) {
    next = other, previous = other->previous;
    previous->next = this, other->previous = this;
  }
  void Unlink() { next->previous = previous, previous->next = next; }
};

class Timer {
 public:
  virtual ~Timer() = default;
  virtual bool Expire(double now) = 0;
};

class Segment : public ListNode, public Timer {
 public:
  explicit Segment(long number) : number_(number), sent_(seconds_now()) {
    std::memset(payload_, static_cast<int>('a' + number % 26), sizeof payload_);
  }
  bool Expire(double now) override { return !acknowledged_ && now > sent_ + 0.5; }  // nobody asks
  long number() const { return number_; }
  void Acknowledge() { acknowledged_ = true; }
  bool IsAcknowledged() const { return acknowledged_; }

 private:
  long number_;
  double sent_;
  bool acknowledged_ = false;
  char payload_[1200];
};

class Link {
 public:
  __attribute__((noinline)) void Send(long number) { (new Segment(number))->InsertBefore(&unacknowledged_); }

  // Looks back from the newest: what is acknowledged was sent lately.
  void Acknowledge(long number) {
    ListNode* node = unacknowledged_.previous;
    for (int steps = 0; node != &unacknowledged_ && steps < 64; ++steps, node = node->previous) {
      auto* segment = static_cast<Segment*>(node);
      if (segment->number() != number) continue;
      segment->Acknowledge();
      break;
    }
    DropFront();
  }

 private:
  void DropFront() {
    while (unacknowledged_.next != &unacknowledged_) {
      auto* first = static_cast<Segment*>(unacknowledged_.next);
      if (!first->IsAcknowledged()) return;
      first->Unlink();
      delete first;
    }
  }

  ListNode unacknowledged_;
};

}  // namespace net

int main() {
  net::Link link;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 1300, number); number < due; ++number) {
      link.Send(number);
      const bool lost = number % 9000 == 8999;
      if (!lost) link.Acknowledge(number);
    }
  }
}
