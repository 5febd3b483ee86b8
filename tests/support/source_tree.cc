// SPDX-License-Identifier: Apache-2.0
#include "support/source_tree.h"

namespace oomw::test {

std::string source_tree() { return OOMW_SOURCE_DIR; }

std::string fixtures() { return source_tree() + "/tests/fixtures"; }

}  // namespace oomw::test
