// SPDX-License-Identifier: Apache-2.0
// One judge per cause; verdict.h lists what each requires. Pure; nullopt: the evidence does not support the cause.
#pragma once

#include <optional>
#include <string>

#include "verdict/verdict_evidence.h"

namespace oomw {

[[nodiscard]] std::optional<Finding> judge_node(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_pod(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_ancestor(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_tmpfs(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_page_cache(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_sibling(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_off_heap(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_beside_heap(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_allocator(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_leak(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_spike(const Evidence& evidence);
[[nodiscard]] std::optional<Finding> judge_undersized(const Evidence& evidence);

// Of tmpfs or shared memory that filled a limit: "Shared memory" where the victims had mapped it, else "Files in
// memory".
[[nodiscard]] std::string kind_of_files(const Incident& incident);
[[nodiscard]] std::string files_action(const Incident& incident);
// The process that had most of what the victims did not: "python3 (pid 12, `python3 worker.py`)"; "": none is known.
[[nodiscard]] std::string largest_other(const Incident& incident);
[[nodiscard]] std::string largest_other_had(const Incident& incident);  // and " had 40 MiB right after the kill; "

}  // namespace oomw
