// SPDX-License-Identifier: Apache-2.0
#include "analyses/analysis_job.h"
#include "analyses/jvm_counter_files.h"
#include "captures/profile_check.h"
#include "captures/stored_reading.h"
#include "captures/walk_job.h"
#include "cli/commands.h"
#include "growth/growth_job.h"
#include "growth/unwound.h"
#include "reader/child.h"
#include "report/profile_texts.h"
#include "runtimes/go/heap_job.h"
#include "runtimes/go/inspection_jobs.h"
#include "runtimes/go/names_job.h"
#include "sinks/fold_job.h"
#include "web/site/flame_job.h"

namespace oomw::cli {

int reader_command(int argc, const char* const* argv) {
  static constexpr reader::JobEntry kJobs[] = {{kCheckProfileJob, check_profile_job},
                                               {kWalkJob, walk_job},
                                               {kStoreReadingJob, store_reading_job},
                                               {kProfileTextsJob, profile_texts_job},
                                               {kAnalyseHeapJob, analyse_heap_job},
                                               {kReadJvmCountersJob, read_jvm_counters_job},
                                               {kUnwindSamplesJob, unwind_samples_job},
                                               {kFlameJob, flame_job},
                                               {kFoldProfileJob, fold_profile_job},
                                               {go::kInspectBinaryJob, go::inspect_binary_job},
                                               {go::kFindListHeadJob, go::find_list_head_job},
                                               {go::kReadHeapJob, go::read_heap_job},
                                               {go::kNameFramesJob, go::name_frames_job}};
  return reader::run_child(argc, argv, kJobs);
}

}  // namespace oomw::cli
