#include "trainers/common/loss_scale.h"

namespace trainers {
namespace {

constexpr double kUsualFactor = 65536;
constexpr std::int64_t kStepsBeforeGrowth = 2000;

}  // namespace

void LossScale::Update(bool overflowed) {
  if (overflowed) {
    factor /= 2;
    steps = 0;
  } else if (++steps == kStepsBeforeGrowth) {
    factor *= 2;
    steps = 0;
  }
}

bool ScalesLosses(const Arguments& arguments) { return arguments.precision == "fp16" || arguments.loss_scale > 0; }

LossScale FirstLossScale(const Arguments& arguments) {
  return {arguments.loss_scale > 0 ? arguments.loss_scale : kUsualFactor, 0};
}

}  // namespace trainers
