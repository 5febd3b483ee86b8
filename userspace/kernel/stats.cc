// SPDX-License-Identifier: Apache-2.0
#include "kernel/stats.h"

#include <numeric>

#include <bpf/bpf.h>
#include <oomwitness/events.h>

namespace oomw {

ProgramStats read_program_stats(const LoadedProgram& program) {
  ProgramStats stats;
  stats.program = program.name;
  bpf_prog_info info{};
  std::uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program.program.get(), &info, &size) != 0) return stats;
  stats.runs = info.run_cnt;
  stats.run_ns = info.run_time_ns;
  stats.missed = info.recursion_misses;
  return stats;
}

LostCounts read_lost(int lost_map_fd, int possible_cpus) {
  LostCounts lost;
  if (lost_map_fd < 0 || possible_cpus <= 0) return lost;
  std::vector<std::uint64_t> by_cpu(static_cast<std::size_t>(possible_cpus));
  for (std::uint32_t index = 0; index < OOMW_LOST_MAX; ++index) {
    bool is_read = bpf_map_lookup_elem(lost_map_fd, &index, by_cpu.data()) == 0;
    lost[static_cast<LostStage>(index)] = is_read ? std::accumulate(by_cpu.begin(), by_cpu.end(), std::uint64_t{0}) : 0;
  }
  return lost;
}

}  // namespace oomw
