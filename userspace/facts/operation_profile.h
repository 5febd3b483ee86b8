// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "facts/operation_patterns.h"
#include "pprof/group.h"
#include "pprof/profile.h"

namespace oomw {

// The label of a sample whose maker knew its operation: "endpoint report".
inline constexpr char kOperationLabel[] = "operation";

// The same profile with each stack's operation, by its label or else by its functions (operation.h), as one more frame
// at its root, "endpoint main.report", so that whatever sums by function or draws stacks shows operations. Stacks
// without one stay as they are. Pure; the new names are printable.
[[nodiscard]] pprof::Profile rooted_by_operation(pprof::Profile profile, const OperationPatterns& patterns = {});

// The same with nothing but these frames: each stack is its operation alone, or "(no operation)".
[[nodiscard]] pprof::Profile summed_by_operation(pprof::Profile profile, const OperationPatterns& patterns = {});

// Of a rooted profile: groups stacks by operation.
[[nodiscard]] pprof::Group operation_group_of(const std::string& function);

}  // namespace oomw
