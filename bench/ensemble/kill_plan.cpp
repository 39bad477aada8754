#include "bench/ensemble/kill_plan.h"

#include <nlohmann/json.hpp>

namespace slipway::ensemble {

Json ToJson(const KillPlan& plan) {
  return {{"name", plan.name},         {"trials", plan.trials},       {"parallel", plan.parallel},
          {"sampler", plan.sampler},   {"scheduler", plan.scheduler}, {"steps", plan.steps},
          {"stubborn", plan.stubborn}, {"enqueued", plan.enqueued}};
}

KillPlan KillPlanFromJson(const Json& json) {
  KillPlan plan;
  json.at("name").get_to(plan.name);
  json.at("trials").get_to(plan.trials);
  json.at("parallel").get_to(plan.parallel);
  json.at("sampler").get_to(plan.sampler);
  json.at("scheduler").get_to(plan.scheduler);
  json.at("steps").get_to(plan.steps);
  json.at("stubborn").get_to(plan.stubborn);
  json.at("enqueued").get_to(plan.enqueued);
  return plan;
}

EnsembleOptions OptionsOf(const KillPlan& plan, const std::filesystem::path& folder) {
  EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  options.trials = plan.trials;
  options.parallel = plan.parallel;
  options.sampler = plan.sampler;
  options.grid_points = 10;
  options.space =
      ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]},"kind":{"choice":["a","b"]}})"));
  options.scheduler.type = plan.scheduler;
  options.scheduler.max = plan.steps;
  options.scheduler.trials = plan.trials;
  options.scheduler.parallel = plan.parallel;
  options.requests_in = folder;
  return options;
}

}  // namespace slipway::ensemble
