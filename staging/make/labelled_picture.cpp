#include "staging/make/labelled_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace slipway::staging {
namespace {

constexpr std::uint64_t kOutlines = 8;
using Colour = std::array<double, 3>;

bool InDisc(double x, double y) { return x * x + y * y < 1; }
bool InRing(double x, double y) { return InDisc(x, y) && x * x + y * y > 0.3; }
bool InSquare(double x, double y) { return std::abs(x) < 0.8 && std::abs(y) < 0.8; }
bool InTriangle(double x, double y) { return y > -0.5 && y < 1 - std::numbers::sqrt3 * std::abs(x); }
bool InCross(double x, double y) {
  return std::max(std::abs(x), std::abs(y)) < 0.95 && std::min(std::abs(x), std::abs(y)) < 0.28;
}
bool InCrescent(double x, double y) { return InDisc(x, y) && !InDisc((x - 0.45) / 0.85, y / 0.85); }
bool InStar(double x, double y) {
  constexpr double kPoint = 2 * std::numbers::pi / 5;
  const double turn = std::atan2(y, x) / kPoint;
  const double from_point = std::abs(turn - std::round(turn));  // 0 at a point, 0.5 between two
  return std::hypot(x, y) < 1 - 1.2 * from_point;
}
bool InBars(double x, double y) { return InSquare(x, y) && std::fmod(x + 0.8, 0.64) < 0.32; }

struct Outline {
  const char* name;
  bool (*contains)(double x, double y);  // about the middle, up to a distance of about 1
};
constexpr std::array<Outline, kOutlines> kOutlineTable = {{{"disc", InDisc},
                                                           {"ring", InRing},
                                                           {"square", InSquare},
                                                           {"triangle", InTriangle},
                                                           {"cross", InCross},
                                                           {"crescent", InCrescent},
                                                           {"star", InStar},
                                                           {"bars", InBars}}};

double Plain(double, double) { return 1; }
double Striped(double x, double) { return std::sin(18 * x) > 0 ? 1 : 0.35; }
double Chequered(double x, double y) { return std::sin(14 * x) * std::sin(14 * y) > 0 ? 1 : 0.35; }
double Dotted(double x, double y) { return std::cos(16 * x) + std::cos(16 * y) > 1 ? 0.3 : 1; }
double Shaded(double x, double) { return 0.65 + 0.35 * x; }

struct Filling {
  const char* name;
  double (*light)(double x, double y);  // 0 to 1
};
constexpr std::array kFillingTable = {Filling{"", Plain}, Filling{"striped ", Striped},
                                      Filling{"chequered ", Chequered}, Filling{"dotted ", Dotted},
                                      Filling{"shaded ", Shaded}};
static_assert(kOutlineTable.size() * kFillingTable.size() == kFigureClasses);

Colour RandomColour(Draw& draw) { return {draw.Between(0, 1), draw.Between(0, 1), draw.Between(0, 1)}; }

double Distance(const Colour& a, const Colour& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

/// A random colour that is clearly different from `other`.
Colour ContrastingColour(const Colour& other, Draw& draw) {
  auto colour = RandomColour(draw);
  while (Distance(colour, other) < 0.5) colour = RandomColour(draw);
  return colour;
}

/// A straight line that lies about: something that is no figure.
struct Stroke {
  double x, y, cosine, sine, length;
  Colour colour;
  bool Covers(double px, double py) const {
    const double along = (px - x) * cosine + (py - y) * sine;
    const double across = (py - y) * cosine - (px - x) * sine;
    return std::abs(along) < length && std::abs(across) < 0.006;
  }
};

Stroke RandomStroke(Draw& draw) {
  const double turn = draw.Angle();
  return {draw.Between(0, 1), draw.Between(0, 1),      std::cos(turn),
          std::sin(turn),     draw.Between(0.05, 0.3), RandomColour(draw)};
}

/// Lights of all pixels, as functions of their place in units of the shorter side.
class Scene {
 public:
  Scene(std::uint64_t figure, double width, double height, Draw& draw)
      : outline_(kOutlineTable[figure % kOutlines]),
        filling_(kFillingTable[figure / kOutlines]),
        background_(RandomColour(draw)),
        colour_(ContrastingColour(background_, draw)),
        radius_(draw.Between(0.125, 0.45)),
        x_(draw.Between(radius_, width - radius_)),
        y_(draw.Between(radius_, height - radius_)),
        noise_(draw.Between(0.01, 0.06)) {
    const double turn = draw.Angle();
    cosine_ = std::cos(turn) / radius_;
    sine_ = std::sin(turn) / radius_;
    slope_ = {draw.Between(-0.3, 0.3), draw.Between(-0.3, 0.3)};
    strokes_.resize(draw.Below(8));
    std::ranges::generate(strokes_, [&] { return RandomStroke(draw); });
  }

  Colour At(double x, double y) const {
    const double dx = x - x_;
    const double dy = y - y_;
    const double u = dx * cosine_ + dy * sine_;
    const double v = dy * cosine_ - dx * sine_;
    if (outline_.contains(u, v)) return Lit(colour_, filling_.light(u, v));
    for (const auto& stroke : strokes_) {
      if (stroke.Covers(x, y)) return stroke.colour;
    }
    return Lit(background_, 1 + slope_[0] * (x - 0.5) + slope_[1] * (y - 0.5));
  }

  double noise() const { return noise_; }

 private:
  static Colour Lit(const Colour& colour, double light) {
    return {colour[0] * light, colour[1] * light, colour[2] * light};
  }

  const Outline& outline_;
  const Filling& filling_;
  Colour background_;
  Colour colour_;
  double radius_;
  double x_;
  double y_;
  double noise_;
  double cosine_ = 1;  // of the turn, over the radius
  double sine_ = 0;
  std::array<double, 2> slope_ = {};
  std::vector<Stroke> strokes_;
};

std::byte ByteOf(double light) { return static_cast<std::byte>(std::lround(255 * std::clamp(light, 0.0, 1.0))); }

std::size_t RandomSide(std::size_t size, Draw& draw) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(draw.Between(0.8, 1.4) * static_cast<double>(size)));
}

}  // namespace

std::string FigureName(std::uint64_t figure) {
  return std::string(kFillingTable[figure / kOutlines].name) + kOutlineTable[figure % kOutlines].name;
}

Picture DrawLabelledPicture(std::uint64_t figure, std::size_t size, Draw& draw) {
  Picture picture{RandomSide(size, draw), RandomSide(size, draw), {}};
  const auto shorter = static_cast<double>(std::min(picture.height, picture.width));
  const Scene scene(figure, static_cast<double>(picture.width) / shorter, static_cast<double>(picture.height) / shorter,
                    draw);
  picture.pixels.reserve(picture.height * picture.width * 3);
  for (std::size_t row = 0; row < picture.height; ++row) {
    for (std::size_t column = 0; column < picture.width; ++column) {
      const auto colour = scene.At(static_cast<double>(column) / shorter, static_cast<double>(row) / shorter);
      for (const auto light : colour) picture.pixels.push_back(ByteOf(light + scene.noise() * draw.Normal()));
    }
  }
  return picture;
}

}  // namespace slipway::staging
