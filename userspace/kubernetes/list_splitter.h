// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace oomw {

// Cuts the elements of "items" out of a list while it arrives, so that 5,000 pods (100 MB of JSON) are never
// in memory at once. It follows only quotes and brackets. A parser then gets each element, and the rest, which
// is the list with "items": [].
//   - one element is at most kMaxItemBytes, the rest at most kMaxRestBytes; more is kLimit.
class ListSplitter {
 public:
  static constexpr std::size_t kMaxItemBytes = 2u << 20;  // etcd takes 1.5 MiB for an object
  static constexpr std::size_t kMaxRestBytes = 64u << 10;
  using OnItem = std::function<void(std::string_view json)>;

  [[nodiscard]] Result<> feed(std::string_view bytes, const OnItem& on_item);
  // The rest, when everything has arrived; kInvalid if the list broke off.
  [[nodiscard]] Result<std::string_view> finish() const;

 private:
  [[nodiscard]] Result<> take(char c, const OnItem& on_item);
  void track(char c);
  [[nodiscard]] bool is_between_items() const { return is_in_items_ && depth_ == 2; }
  [[nodiscard]] bool is_in_item() const { return is_in_items_ && depth_ > 2; }

  std::string item_;
  std::string rest_;
  std::string last_text_;  // the last string that began on the list's own level: a key, if a bracket follows
  int depth_ = 0;
  bool is_in_text_ = false;
  bool is_escaped_ = false;
  bool is_in_items_ = false;
};

}  // namespace oomw
