// SPDX-License-Identifier: Apache-2.0
// main() of the captures' tests: the program is its own reader, as the daemon is.
#include <string_view>

#include <gtest/gtest.h>

#include "captures/stored_reading.h"
#include "captures/walk_job.h"
#include "reader/child.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/inspection_jobs.h"
#include "runtimes/go/names_job.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "reader") {
    static constexpr oomw::reader::JobEntry kJobs[] = {{oomw::kWalkJob, oomw::walk_job},
                                                       {oomw::kStoreReadingJob, oomw::store_reading_job},
                                                       {oomw::go::kInspectBinaryJob, oomw::go::inspect_binary_job},
                                                       {oomw::go::kFindListHeadJob, oomw::go::find_list_head_job},
                                                       {oomw::go::kReadHeapJob, oomw::go::read_heap_job},
                                                       {oomw::go::kNameFramesJob, oomw::go::name_frames_job}};
    return oomw::reader::run_child(argc, argv, kJobs);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
