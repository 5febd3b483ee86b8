// SPDX-License-Identifier: Apache-2.0
// main() of the growth tests: the program is its own reader, confined as the daemon's is.
#include <string_view>

#include <gtest/gtest.h>

#include "growth/growth_job.h"
#include "growth/unwound.h"
#include "reader/child.h"

int main(int argc, char** argv) {
  static constexpr oomw::reader::JobEntry kJobs[] = {{oomw::kUnwindSamplesJob, oomw::unwind_samples_job}};
  if (argc > 1 && std::string_view(argv[1]) == "reader") return oomw::reader::run_child(argc, argv, kJobs);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
