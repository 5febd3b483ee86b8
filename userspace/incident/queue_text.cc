// SPDX-License-Identifier: Apache-2.0
#include "incident/queue_text.h"

#include "base/text.h"

namespace oomw {

std::string queue_amount(const CollectorExporter& exporter, std::int64_t amount,
                         std::optional<std::uint64_t> limit_bytes) {
  // A data point, the smallest item, takes more than that without any attribute.
  constexpr std::uint64_t kSmallestItem = 64;
  const bool is_bytes = limit_bytes && exporter.queue_size > *limit_bytes / kSmallestItem;
  if (!is_bytes) return std::to_string(amount);
  const std::uint64_t size = amount < 0 ? -static_cast<std::uint64_t>(amount) : static_cast<std::uint64_t>(amount);
  return (amount < 0 ? "-" : "") + human_bytes(size);
}

std::string queue_text(const CollectorExporter& exporter, std::optional<std::uint64_t> limit_bytes) {
  const auto amount = [&](std::uint64_t of) {
    return queue_amount(exporter, static_cast<std::int64_t>(of), limit_bytes);
  };
  std::string text = amount(exporter.queue_size);
  if (exporter.queue_capacity) text += " of " + amount(*exporter.queue_capacity);
  if (!exporter.growth) return text;
  return text + ", " + queue_amount(exporter, *exporter.growth, limit_bytes) + " more than at first";
}

}  // namespace oomw
