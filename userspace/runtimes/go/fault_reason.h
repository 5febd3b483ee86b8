// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "events/capture_terms.h"
#include "reader/reader.h"

namespace oomw {

// Why there is no capture, where the reader gave no answer; kNone for kNone: the job's own error is the reason.
[[nodiscard]] constexpr CaptureReason reason_of(reader::Fault fault) {
  switch (fault) {
    case reader::Fault::kNone:
      return CaptureReason::kNone;
    case reader::Fault::kBusy:
    case reader::Fault::kRefused:
      return CaptureReason::kTimeout;
    case reader::Fault::kFailed:
      return CaptureReason::kReaderFailed;
    case reader::Fault::kTimeout:
      return CaptureReason::kReaderTimeout;
    case reader::Fault::kLimit:
      return CaptureReason::kReaderLimit;
  }
  return CaptureReason::kReaderFailed;
}

}  // namespace oomw
