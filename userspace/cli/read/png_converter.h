// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace oomw::cli {

// Turns an SVG file into a PNG file by the rsvg-convert that PATH has; returns its path. We bring no
// renderer of our own, and call no browser: it would have to run as root without its sandbox, on names
// that a workload chose. The picture is whole or absent.
// kNotFound: it is not there, and the message says so; kTimeout: it took over a minute.
[[nodiscard]] Result<std::string> convert_to_png(const std::string& svg_path, const std::string& png_path);

}  // namespace oomw::cli
