// SPDX-License-Identifier: Apache-2.0
// Field numbers of profile.proto.
#pragma once

#include <cstdint>

namespace oomw::pprof::field {

using Number = std::uint32_t;

namespace profile {
inline constexpr Number kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kStringTable = 6,
                        kDropFrames = 7, kKeepFrames = 8, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11,
                        kPeriod = 12, kComment = 13, kDefaultSampleType = 14, kDocUrl = 15;
}
namespace value_type {
inline constexpr Number kType = 1, kUnit = 2;
}
namespace sample {
inline constexpr Number kLocationId = 1, kValue = 2, kLabel = 3;
}
namespace label {
inline constexpr Number kKey = 1, kText = 2, kNumber = 3, kUnit = 4;
}
namespace mapping {
inline constexpr Number kId = 1, kMemoryStart = 2, kMemoryLimit = 3, kFileOffset = 4, kFilename = 5, kBuildId = 6,
                        kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9, kHasInlineFrames = 10;
}
namespace location {
inline constexpr Number kId = 1, kMappingId = 2, kAddress = 3, kLine = 4;
}
namespace line {
inline constexpr Number kFunctionId = 1, kLine = 2;
}
namespace function {
inline constexpr Number kId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5;
}

}  // namespace oomw::pprof::field
