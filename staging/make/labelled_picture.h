/// Pictures with one figure in front of a background, for classification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/make/draw.h"

namespace slipway::staging {

/// Eight outlines with five fillings each.
inline constexpr std::uint64_t kFigureClasses = 40;

/// "disc", "ring", ..., "striped disc", ...: class i is outline i % 8 with filling i / 8.
std::string FigureName(std::uint64_t figure);

struct Picture {
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::byte> pixels;  ///< [height, width, 3], red, green, blue
};

/// Draws a figure of class `figure` over a background with a gradient, strokes and noise. Colours, size, place,
/// rotation and light are random. The figure takes a quarter to nine tenths of the shorter side. The sides are 0.8 to
/// 1.4 times `size`.
Picture DrawLabelledPicture(std::uint64_t figure, std::size_t size, Draw& draw);

}  // namespace slipway::staging
