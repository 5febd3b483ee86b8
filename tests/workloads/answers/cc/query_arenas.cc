// SPDX-License-Identifier: Apache-2.0
// Each query plan gets memory of an arena of its own; plans are cached by their text, and texts have numbers in them.
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "pace.h"

namespace {

class Arena {
 public:
  void* allocate(size_t bytes) {
    bytes = (bytes + 15) & ~size_t{15};
    if (blocks_.empty() || used_ + bytes > kBlock) {
      blocks_.push_back(static_cast<char*>(std::malloc(kBlock)));
      used_ = 0;
    }
    used_ += bytes;
    return blocks_.back() + used_ - bytes;
  }

 private:
  static constexpr size_t kBlock = 16 << 10;
  std::vector<char*> blocks_;
  size_t used_ = 0;
};

struct PlanNode {
  int kind;
  double cost;
  PlanNode *left, *right;
  char table[64];
};

PlanNode* build_plan(Arena& arena, int depth, long number) {
  auto* node = static_cast<PlanNode*>(arena.allocate(sizeof(PlanNode)));
  node->kind = depth % 3;
  node->cost = static_cast<double>(number);
  std::strcpy(node->table, "orders_by_day");
  node->left = depth > 0 ? build_plan(arena, depth - 1, number) : nullptr;
  node->right = depth > 0 ? build_plan(arena, depth - 1, number + 1) : nullptr;
  return node;
}

struct CachedPlan {
  Arena arena;
  PlanNode* root = nullptr;
};

class PlanCache {
 public:
  const PlanNode* prepare(const std::string& text, long number) {
    CachedPlan& plan = plans_[text];
    if (plan.root == nullptr) plan.root = build_plan(plan.arena, 6, number);
    return plan.root;
  }

 private:
  std::unordered_map<std::string, CachedPlan> plans_;
};

}  // namespace

int main() {
  PlanCache cache;
  double costs = 0;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 180, number); number < due; ++number) {
      costs += cache.prepare("select sum(total) from orders where id = " + std::to_string(number), number)->cost;
    }
    if (costs < 0) return 1;
  }
}
