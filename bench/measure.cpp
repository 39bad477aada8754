#include "bench/measure.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace slipway::bench {
namespace {

std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Json DescribeMachine() {
  char name[256] = "?";
  ::gethostname(name, sizeof name - 1);
  return {{"host", name}, {"cores", std::thread::hardware_concurrency()}, {"processor", Processor()}};
}

}  // namespace slipway::bench
