// Functions that no sampler is tuned on.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "bench/samplers/formulas.h"
#include "bench/samplers/functions.h"
#include "bench/samplers/values.h"

namespace slipway::bench {
namespace {

using ensemble::Point;

double ShiftedEllipsoid(const Point& point) {
  auto x = Numbers(point);
  for (double& at : x) at -= 1.5;
  return Ellipsoid(x);
}

/// Rosenbrock's valley, which here follows no coordinate; the minimum is at 0.7.
double TurnedRosenbrock(const Point& point) {
  auto x = Numbers(point);
  for (double& at : x) at -= 0.7;
  x = Mirrored(x);
  for (double& at : x) at += 1;
  return Rosenbrock(x);
}

constexpr const char* kMixedWavesSpace = R"({"x0":{"uniform":[-4,9]},"x1":{"uniform":[-4,9]},"x2":{"uniform":[-4,9]},
  "n0":{"int":[-4,9]},"n1":{"int":[-4,9]},"kind":{"choice":["a","b","c","d"]}})";

/// Ackley's waves over numbers and integers; each kind has its middle elsewhere, and "c" is the best by a little.
double MixedWaves(const Point& point) {
  const int kind = Text(point, "kind")[0] - 'a';
  std::vector<double> x = {Number(point, "x0"), Number(point, "x1"), Number(point, "x2")};
  for (double& at : x) at -= 0.3 + kind;
  x.push_back(Number(point, "n0") - 2);
  x.push_back(Number(point, "n1") - kind);
  return Ackley(x) + 0.4 * std::abs(kind - 2);
}

/// The first half of the numbers is best at the border, the second inside.
double Border(const Point& point) {
  const auto x = Numbers(point);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += static_cast<double>(i + 1) * Square(x[i] - (i < x.size() / 2 ? -0.2 : 0.6));
  }
  return sum;
}

constexpr const char* kIntegerSpace = R"({"depth":{"int":[1,12]},"width":{"int_log":[4,4096]},
  "batch":{"int_log":[1,1024]},"warmup":{"int":[0,100]},"heads":{"int":[1,16]},"kernel":{"int":[1,9]}})";

double Integers(const Point& point) {
  const double depth = Number(point, "depth") - 7;
  return 0.05 * depth * depth + 0.2 * Square(std::log2(Number(point, "width")) - 9 + 0.5 * depth) +
         0.1 * Square(std::log2(Number(point, "batch")) - 6) + 0.0005 * Square(Number(point, "warmup") - 35) +
         0.1 * std::abs(Number(point, "heads") - 6) + (Number(point, "kernel") == 5 ? 0 : 0.3);
}

constexpr int kLetters = 6;

std::string LetterSpace() {
  std::string members;
  for (int i = 0; i < kLetters; ++i)
    members += fmt::format(R"({}"c{}":{{"choice":["a","b","c","d"]}})", i ? "," : "", i);
  return "{" + members + "}";
}

/// Six letters: each has a best one, and neighbours want to fit together.
double Letters(const Point& point) {
  constexpr std::array<int, kLetters> kBest = {2, 0, 3, 1, 1, 2};
  double sum = 0;
  int before = 0;
  for (int i = 0; i < kLetters; ++i) {
    const int letter = Text(point, fmt::format("c{}", i))[0] - 'a';
    sum += 0.1 * ((letter - kBest[i] + 4) % 4) * (1 + 0.1 * i);
    if (i > 0 && (letter + before) % 4 != (kBest[i] + kBest[i - 1]) % 4) sum += 0.5;
    before = letter;
  }
  return sum;
}

constexpr const char* kTreeSpace = R"({"model":{"choice":["linear","forest","net"]},
  "penalty":{"choice":["l1","l2","elastic"],"when":{"model":"linear"}},
  "strength":{"log":[1e-4,1e2],"when":{"model":"linear"}},
  "ratio":{"uniform":[0,1],"when":{"penalty":"elastic"}},
  "trees":{"int_log":[10,1000],"when":{"model":"forest"}},"leaf":{"int":[1,30],"when":{"model":"forest"}},
  "features":{"uniform":[0.05,1],"when":{"model":"forest"}},
  "rate":{"log":[1e-5,1],"when":{"model":"net"}},"width":{"int_log":[8,1024],"when":{"model":"net"}},
  "layers":{"int":[1,4],"when":{"model":"net"}},"skip":{"choice":[true,false],"when":{"layers":[3,4]}},
  "scale":{"uniform":[0,2]}})";

double LinearModel(const Point& point) {
  const double penalty = Text(point, "penalty") == "l1" ? 0.05 : Text(point, "penalty") == "l2" ? 0.03 : 0.0;
  const double ratio = IsActive(point, "ratio") ? 0.1 * Square(Number(point, "ratio") - 0.3) : 0.0;
  return 0.1 + penalty + ratio + 0.02 * Square(std::log10(Number(point, "strength")) - 0.5);
}

double ForestModel(const Point& point) {
  return 0.04 + 0.03 * Square(std::log10(Number(point, "trees")) - 2.5) + 0.0005 * Square(Number(point, "leaf") - 4) +
         0.2 * Square(Number(point, "features") - 0.35);
}

double NetModel(const Point& point) {
  const double layers = Number(point, "layers");
  const bool skips = IsActive(point, "skip") && std::get<bool>(*ensemble::Find(point, "skip"));
  const double deep = IsActive(point, "skip") && !skips ? 0.06 : 0.0;
  return 0.15 * Square(std::log10(Number(point, "rate")) + 2 + 0.25 * layers) +
         0.02 * Square(std::log2(Number(point, "width")) - 7) + 0.02 * Square(layers - 4) + deep;
}

/// Three kinds of models with their own parameters, two levels deep, and one parameter that all share.
double Tree(const Point& point) {
  const double shared = 0.1 * Square(Number(point, "scale") - 1.2);
  const auto& model = Text(point, "model");
  if (model == "linear") return shared + LinearModel(point);
  return shared + (model == "forest" ? ForestModel(point) : NetModel(point));
}

}  // namespace

const std::vector<TestFunction>& OtherFunctions() {
  static const std::vector<TestFunction> functions = {
      {"michalewicz5", Box(5, 0, std::numbers::pi), -4.687658179088148, Of<Michalewicz>},
      {"griewank6", Box(6, -300, 500), 0, Of<Griewank>},
      {"styblinski5", Box(5, -5, 5), -39.16616570377142 * 5, Of<StyblinskiTang>},
      {"schwefel4", Box(4, -500, 500), 0, Of<Schwefel>},
      {"dixonprice6", Box(6, -10, 10), 0, Of<DixonPrice>},
      {"ellipsoid8", Box(8, -5, 5), 0, ShiftedEllipsoid},
      {"border6", Box(6, 0, 1), 0.04 * (1 + 2 + 3), Border},
      {"turned_rosen6", Box(6, -3, 4), 0, TurnedRosenbrock},
      {"zakharov6", Box(6, -5, 10), 0, Of<Zakharov>},
      {"powell8", Box(8, -4, 5), 0, Of<Powell>},
      {"trid7", Box(7, -49, 49), -77, Of<Trid>},
      {"mixed_waves6", kMixedWavesSpace, 0, MixedWaves},
      {"noisy_branin", R"({"x0":{"uniform":[-5,10]},"x1":{"uniform":[0,15]}})", 0.39788735772973816, Of<Branin>, 1},
      {"noisy_ackley5", Box(5, -5, 10), 0, Of<Ackley>, 0.3},
      {"noisy_levy10", Box(10, -10, 10), 0, Of<Levy>, 2},
      {"noisy_integers6", kIntegerSpace, 0, Integers, 0.1},
      {"noisy_tree", kTreeSpace, 0, Tree, 0.02},
      {"noisy_hartmann6", Box(6, 0, 1), -3.32236801141551, Of<Hartmann6>, 0.1},
      {"integers6", kIntegerSpace, 0, Integers},
      {"letters6", LetterSpace(), 0, Letters},
      {"tree", kTreeSpace, 0, Tree},
  };
  return functions;
}

}  // namespace slipway::bench
