// SPDX-License-Identifier: Apache-2.0
#include "incident/capture_reasons.h"

#include <array>
#include <utility>

namespace oomw {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 40> kReasons = {{
    {"no_endpoint", "no pprof endpoint of this process was found on the known ports"},
    {"refused", "the pprof endpoint refused the connection"},
    {"timeout", "the profile did not arrive before the deadline"},
    {"http_status", "the endpoint answered with an error status"},
    {"redirect", "the endpoint answered with a redirect, which is never followed"},
    {"too_large", "the answer was larger than the size cap"},
    {"not_a_profile", "the answer was not a heap profile"},
    {"truncated", "the connection ended in the middle of the profile"},
    {"gone", "the process was gone before the profile was complete"},
    {"netns", "its network namespace could not be entered"},
    {"headroom", "too little memory was left: the capture itself could have caused the kill"},
    {"opted_out", "the pod's annotation oomwitness.io/capture says false"},
    {"not_opted_in", "the pod has no annotation oomwitness.io/capture that says true, and capture_opt_in is set"},
    {"cooldown", "the same trigger had fired shortly before"},
    {"budget", "the container's capture budget was used up"},
    {"page_cache", "most of the memory was reclaimable page cache at that moment"},
    {"busy", "another capture of this container was running"},
    {"queue_full", "all capture workers were busy"},
    {"32_bit", "a 32-bit Go program: only 64-bit ones can be read"},
    {"limit", "the heap profile has more than this daemon keeps"},
    {"no_space", "the profile could not be stored: the disk refused it, and it was larger than the memory kept for it"},
    {"not_go", "not a Go program: only Go's runtime keeps a heap profile that can be read from outside"},
    {"linked_out", "the program does not use Go's heap profile, so the linker switched it off (rate 0 for good)"},
    {"rate_zero", "the program has set runtime.MemProfileRate to 0"},
    {"not_found", "a Go program, but its heap profile was not found in the executable"},
    {"layout_unknown", "the records of this Go version's heap profile have a layout that is not known"},
    {"empty", "no allocation had been sampled yet"},
    {"rejected", "what lies where the heap profile should be does not verify"},
    {"no_walk", "the kernel program did not run in the dying process"},
    {"unsupported", "the kernel refuses the program that reads the dying process (bpf_loop came with 5.17)"},
    {"unreadable", "the memory of the process could not be read"},
    {"permission", "the process may not be looked at"},
    {"partial", "part of the heap profile only"},
    {"fault", "a page of the heap profile was not in memory"},
    {"malformed", "what lies where the heap profile should be is not one"},
    {"loop", "what lies where the heap profile should be leads back into itself"},
    {"pool_full", "other victims of the same moment had used up the room for walks"},
    {"bucket_limit", "the heap profile has more call stacks than a walk may take"},
    {"time_limit", "the walk took longer than it may hold up the victim's exit"},
    {"lost", "part of what the walk stored was lost"},
}};

}  // namespace

std::string_view explain_capture_reason(std::string_view token) {
  for (const auto& [name, meaning] : kReasons) {
    if (name == token) return meaning;
  }
  return "";
}

}  // namespace oomw
