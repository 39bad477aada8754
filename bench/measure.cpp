#include "bench/measure.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/processor.h"

namespace slipway::bench {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Json DescribeMachine() {
  char name[256] = "?";
  ::gethostname(name, sizeof name - 1);
  return {{"host", name}, {"cores", std::thread::hardware_concurrency()}, {"processor", ProcessorName()}};
}

}  // namespace slipway::bench
