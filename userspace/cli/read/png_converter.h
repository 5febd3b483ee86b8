// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace oomw::cli {

// Converts an SVG file into a PNG file with the rsvg-convert in PATH; returns the PNG's path. We bring no
// renderer of our own and do not start a browser: it would have to run as root without its sandbox, on names
// that a workload chose. The picture is whole or absent.
// kNotFound: rsvg-convert is missing, as the message states; kTimeout: it took over a minute.
[[nodiscard]] Result<std::string> convert_to_png(const std::string& svg_path, const std::string& png_path);

}  // namespace oomw::cli
