// SPDX-License-Identifier: Apache-2.0
#include "correlate/heap_fillers.h"

#include <algorithm>

namespace oomw {
namespace {

const HeapSites& sites_of(const Incident& incident, const IncidentCapture& capture,
                          const std::vector<CaptureFinished>& captures) {
  return captures[static_cast<std::size_t>(&capture - incident.captures.data())].sites;
}

std::optional<double> growth_since(const HeapOperation& operation, const HeapSites& before) {
  const auto found = std::ranges::find_if(before.operations, [&](const HeapOperation& earlier) {
    return earlier.kind == operation.kind && earlier.name == operation.name;
  });
  if (found == before.operations.end() || found->bytes == 0) return std::nullopt;
  return static_cast<double>(operation.bytes) / static_cast<double>(found->bytes);
}

}  // namespace

void add_fillers(Incident& incident, const std::vector<CaptureFinished>& captures) {
  const IncidentCapture* best = best_capture(incident);
  if (best == nullptr || captures.size() != incident.captures.size()) return;
  const HeapSites& now = sites_of(incident, *best, captures);
  const IncidentCapture* first = first_before(incident, *best);
  const bool is_comparable = first != nullptr && shows_last_collection(*first) == shows_last_collection(*best);
  const HeapSites before = is_comparable ? sites_of(incident, *first, captures) : HeapSites{};
  for (const HeapSite& site : now.sites) {
    incident.fillers.push_back({best->of, "site", site.code, site.path, site.operation_kind, site.operation, site.bytes,
                                site.share, best->method});
  }
  for (const HeapOperation& operation : now.operations) {
    incident.operations.push_back(
        {operation.kind, operation.name, operation.bytes, operation.share, growth_since(operation, before)});
  }
}

}  // namespace oomw
