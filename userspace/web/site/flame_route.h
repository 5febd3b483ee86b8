// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "facts/operation_patterns.h"
#include "reader/reader.h"
#include "web/http.h"

namespace oomw {

// /api/v1/incidents/ID/flame?capture=&by=&mode=&type=&base=&against= : see flame_job.h. The profile is parsed in the
// reader process.
//   capture  a file of the incident; "" = its best profile
//   base     growth, diff: the earlier file of this incident; "" = the first one of the same process
//   against  diff: another incident, whose best profile is the earlier one
[[nodiscard]] Route flame_route(std::string data_dir, std::shared_ptr<reader::Reader> reader,
                                OperationPatterns patterns = {});

}  // namespace oomw
