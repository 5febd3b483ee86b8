// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace oomw::cli {

// Turns an SVG file into a PNG file, by the first of rsvg-convert, inkscape and chromium that PATH
// has; returns which. We bring no renderer of our own. The picture is whole or absent.
// kNotFound: none of them is there, and the message names them; kTimeout: it took over a minute.
struct PictureSize {
  unsigned width_px = 0, height_px = 0;
};
[[nodiscard]] Result<std::string> convert_to_png(const std::string& svg_path, const std::string& png_path,
                                                 PictureSize size);

}  // namespace oomw::cli
