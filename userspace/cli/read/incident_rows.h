// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/markdown_view.h"
#include "store/incident_filter.h"

namespace oomw::cli {

struct RowStyle {
  bool is_wide = false;            // every column, whole, whatever the terminal's width is
  bool is_grouped = true;          // repeats of one workload and cause are one row
  bool is_local = false;           // times as the machine's time zone has them
  TerminalView view = {0, false};  // columns 0: not a terminal; whole ids, no colour
  WallTime now = {};
  std::size_t limit = 0;  // rows; 0 = all
};

// The list of incidents, newest first. Pure.
[[nodiscard]] std::string incident_rows(const std::vector<IncidentSummary>& summaries, const RowStyle& style);

// "2026-11-21T03:04:05Z", or "2026-11-21 04:04:05 +0100" in local time.
[[nodiscard]] std::string time_text(WallTime time, bool is_local);

}  // namespace oomw::cli
