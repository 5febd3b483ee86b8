// SPDX-License-Identifier: Apache-2.0
// Who pays when something that many share is full. Pure: no clock, file or thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace oomw {

// Whoever something is charged to. Both names are keys and are shown to people, so they are printable.
struct ShareOwner {
  std::string container;  // "": not known; all that is not known shares one owner
  std::string space;      // the tenant that it belongs to (a namespace); "": the container is a tenant of its own
  friend auto operator<=>(const ShareOwner&, const ShareOwner&) = default;
};

// The namespace alone; where that is not known, the container.
[[nodiscard]] inline ShareOwner tenant_of(const ShareOwner& owner) {
  return owner.space.empty() ? owner : ShareOwner{"", owner.space};
}

// "container 3f2a in namespace shop"
[[nodiscard]] std::string to_text(const ShareOwner& owner);

// One container's part of something bounded.
struct ShareUse {
  ShareOwner owner;
  std::uint64_t cost = 0;
  bool has_spare = false;  // it can lose something and still keeps its best
};

// Which of `uses` (one entry per owner) has to lose something when all together exceed `bound`; nullopt: they do not.
//   - First among tenants, then among the containers of that tenant.
//   - A tenant that has no more than bound / number of tenants never loses, whatever the others do.
//   - Of those above it, the largest that has something to spare; if none has, the largest. Ties go to the first.
[[nodiscard]] std::optional<std::size_t> who_loses(std::span<const ShareUse> uses, std::uint64_t bound);

// Something that is kept for its owner, of a sequence with the oldest first.
struct ShareEntry {
  const ShareOwner* owner = nullptr;
  std::uint64_t cost = 0;
};

// Which of `entries` is dropped when all together exceed `bound`; nullopt: they do not. Its owner is found by
// who_loses(); of that owner's entries the oldest between its first and its newest, then its first, then its newest.
[[nodiscard]] std::optional<std::size_t> entry_to_drop(std::span<const ShareEntry> entries, std::uint64_t bound);

// What was taken from containers that were over their share. Cumulative.
struct ShareExcess {
  std::uint64_t count = 0;
  ShareOwner last;
  void note(const ShareOwner& owner) {
    ++count;
    last = owner;
  }
};

}  // namespace oomw
