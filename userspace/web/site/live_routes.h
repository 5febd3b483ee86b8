// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "web/http.h"
#include "web/site/daemon_link.h"
#include "web/site/incident_list.h"

namespace oomw {

// /api/v1/now and /api/v1/health, on the worker. link: null where no daemon started this; then there is no "now", and
// health is that of the directory.
[[nodiscard]] std::vector<Route> live_routes(std::string data_dir, std::shared_ptr<DaemonLink> link,
                                             std::shared_ptr<IncidentList> list);

}  // namespace oomw
