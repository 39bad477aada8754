// Steps of an optimizer, and the averages of its weights, on numbers from standard input, for a test that knows what
// must come out.
//
//   optimizer_steps --optimizer lamb ... < {"weights": [[1, 2]], "bias": [1], "steps": [{"rate": 0.1, "weights": [[1,
//   1]],
//                                           "bias": [0]}, ...]}
//
// Answers with weights and bias after each step, and their averages.

#include <ATen/ATen.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "trainers/common/arguments.h"
#include "trainers/common/optimizers.h"
#include "trainers/common/weight_average.h"

namespace {

using nlohmann::json;

at::Tensor Matrix(const json& rows) {
  std::vector<float> values;
  for (const auto& row : rows) {
    const auto numbers = row.get<std::vector<float>>();
    values.insert(values.end(), numbers.begin(), numbers.end());
  }
  return at::tensor(values).reshape({static_cast<std::int64_t>(rows.size()), -1});
}

at::Tensor Vector(const json& values) { return at::tensor(values.get<std::vector<float>>()); }

json ValuesOf(const at::Tensor& tensor) {
  const auto flat = tensor.contiguous();
  return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

}  // namespace

int main(int argc, char** argv) {
  trainers::Arguments arguments;
  trainers::OptionList options;
  trainers::AddCommonOptions(options, arguments, "records");
  options.Parse({argv + 1, argv + argc});
  const auto input = json::parse(std::cin);
  auto weights = Matrix(input["weights"]).requires_grad_(true);
  auto bias = Vector(input["bias"]).requires_grad_(true);
  const auto optimizer = trainers::MakeOptimizer(arguments, {weights, bias});
  trainers::WeightAverage average(arguments.ema, {weights, bias});
  const auto both = [&] { return json{{"weights", ValuesOf(weights.detach())}, {"bias", ValuesOf(bias.detach())}}; };
  json answer = json::array();
  for (const auto& step : input["steps"]) {
    weights.mutable_grad() = Matrix(step["weights"]);
    bias.mutable_grad() = Vector(step["bias"]);
    optimizer->Step(step["rate"].get<double>());
    average.Update();
    answer.push_back(both());
    const trainers::AveragedWeights averaged(&average);
    answer.back()["averaged"] = both();
  }
  std::cout << answer.dump() << '\n';
}
