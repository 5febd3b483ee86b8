// SPDX-License-Identifier: Apache-2.0
// main() of the report's tests: the program is its own reader, as the daemon is.
#include <string_view>

#include <gtest/gtest.h>

#include "reader/child.h"
#include "report/profile_texts.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "reader") {
    static constexpr oomw::reader::JobEntry kJobs[] = {{oomw::kProfileTextsJob, oomw::profile_texts_job}};
    return oomw::reader::run_child(argc, argv, kJobs);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
