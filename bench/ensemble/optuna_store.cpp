#include "bench/ensemble/optuna_store.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {

std::optional<Json> AskOptunaStore(const std::vector<std::string>& words) {
  constexpr int kNotInstalled = 3;
  SpawnOptions options;
  options.argv = {"/usr/bin/python3", HelperProgram("bench-support/optuna_store.py")};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  if (::access(options.argv.front().c_str(), X_OK) != 0) return std::nullopt;
  const auto ran = RunAndCapture(options, std::chrono::minutes(10));
  if (ran.status.code == kNotInstalled) return std::nullopt;
  if (!ran.status.Success())
    throw Error(ErrorKind::kFailed, "Optuna: " + ran.errors,
                "check the installation: /usr/bin/python3 -c 'import optuna'");
  return Json::parse(ran.output);
}

bool FillOptunaStore(const std::filesystem::path& database, int trials) {
  return AskOptunaStore({"fill", std::to_string(trials), database}).has_value();
}

}  // namespace slipway::bench
