// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "web/http.h"
#include "web/site/incident_list.h"

namespace oomw {

// All on the worker, which alone uses the list:
//   /api/v1/incidents            see incident_query.h
//   /api/v1/incidents/ID         incident.json
//   /api/v1/incidents/ID/context its files, the other incidents of its workload, the commands that go on from here
//   /i/ID/files/NAME             a file as it is, never as a page of this origin
//   /i/ID.tar.gz
[[nodiscard]] std::vector<Route> incident_routes(std::shared_ptr<IncidentList> list);

}  // namespace oomw
