// The ten functions of the goals: the continuous ones as the field uses them, and one mixed and conditional space.

#include <fmt/format.h>

#include <cmath>

#include "bench/samplers/formulas.h"
#include "bench/samplers/functions.h"
#include "bench/samplers/values.h"

namespace slipway::bench {
namespace {

using ensemble::Point;

double ShiftedRastrigin(const Point& point) {
  auto x = Numbers(point);
  for (double& at : x) at -= 1.3;
  return Rastrigin(x);
}

constexpr const char* kMixedSpace = R"({"opt":{"choice":["sgd","adam","rmsprop"]},"lr":{"log":[1e-5,1]},
  "batch":{"choice":[16,32,64,128,256,512]},"layers":{"int":[1,4]},"drop":{"uniform":[0,0.7]},
  "mom":{"uniform":[0,0.99],"when":{"opt":"sgd"}},"beta2":{"uniform":[0.9,0.9999],"when":{"opt":"adam"}},
  "units_0":{"int_log":[8,1024]},"units_1":{"int_log":[8,1024],"when":{"layers":[2,3,4]}},
  "units_2":{"int_log":[8,1024],"when":{"layers":[3,4]}},"units_3":{"int_log":[8,1024],"when":{"layers":4}}})";

struct Branch {
  double base;
  double best_log_lr;
};

Branch BranchOf(const Point& point) {
  const auto& optimizer = Text(point, "opt");
  if (optimizer == "sgd") return {0.3 * Square(Number(point, "mom") - 0.9), -1 - Number(point, "mom") / 0.99};
  if (optimizer == "adam") return {0.02 + 0.02 * Square(std::log10(1 - Number(point, "beta2")) + 3), -3};
  return {0.05, -3.5};
}

/// Training a network, as a formula: three optimizers with their own best learning rates, and layers of units.
double MixedConditional(const Point& point) {
  const auto branch = BranchOf(point);
  const int layers = static_cast<int>(Number(point, "layers"));
  double shape = 0;
  for (int i = 0; i < layers; ++i) {
    shape += Square(std::log2(Number(point, fmt::format("units_{}", i)) / (256 / std::exp2(i))));
  }
  const double best_log_lr = branch.best_log_lr + 0.5 * std::log10(Number(point, "batch") / 64);
  return branch.base + 0.25 * Square(std::log10(Number(point, "lr")) - best_log_lr) + 0.05 * Square(layers - 3) +
         0.03 * shape / layers + 0.4 * Square(Number(point, "drop") - 0.2);
}

}  // namespace

const std::vector<TestFunction>& GoalFunctions() {
  static const std::vector<TestFunction> functions = {
      {"branin", R"({"x0":{"uniform":[-5,10]},"x1":{"uniform":[0,15]}})", 0.39788735772973816, Of<Branin>},
      {"hartmann3", Box(3, 0, 1), -3.86278214782076, Of<Hartmann3>},
      {"hartmann6", Box(6, 0, 1), -3.32236801141551, Of<Hartmann6>},
      {"ackley5", Box(5, -5, 10), 0, Of<Ackley>},
      {"ackley10", Box(10, -5, 10), 0, Of<Ackley>},
      {"rosen5", Box(5, -5, 10), 0, Of<Rosenbrock>},
      {"rosen10", Box(10, -5, 10), 0, Of<Rosenbrock>},
      {"levy10", Box(10, -10, 10), 0, Of<Levy>},
      {"rastrigin5", Box(5, -5.12, 5.12), 0, ShiftedRastrigin},
      {"mixcond", kMixedSpace, 0, MixedConditional},
  };
  return functions;
}

}  // namespace slipway::bench
