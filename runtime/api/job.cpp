#include "runtime/api/job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "runtime/group/agreement.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Json ParseConfiguration(const std::string& text) {
  auto config = text.empty() ? Json::object() : Json::parse(text);
  if (!config.is_object()) throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "the configuration is not a JSON object");
  return config;
}

int CheckpointsToKeep(const Json& config, int otherwise) {
  const auto keep = config.value("checkpoint", Json::object()).value("keep", Json(otherwise));
  if (!keep.is_number_integer() || keep < 1 || keep > std::numeric_limits<int>::max()) {
    throw RuntimeError(
        SLIPWAY_ERROR_ARGUMENT,
        fmt::format("the configuration is wrong: checkpoint.keep is {}, not a number from 1", keep.dump()));
  }
  return keep.get<int>();
}

Checkpoints::Settings CheckpointSettings(const std::string& config) try {
  const auto json = ParseConfiguration(config);
  Checkpoints::Settings settings;
  settings.directory = Variable("SLIPWAY_CHECKPOINT_DIR");
  settings.resume_from = Variable("SLIPWAY_RESUME_FROM");
  settings.keep = CheckpointsToKeep(json, settings.keep);
  settings.spec_hash = json.value("spec_hash", std::string());
  return settings;
} catch (const nlohmann::json::exception& error) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the configuration is malformed: {}", error.what()));
}

}  // namespace

Job::Job(const char* config) : process_(::getpid()) {
  Join();
  OnAllRanks(*communicator_, [&] { Configure(config); });
}

void Job::Join() {
  communicator_ = mpi_.in_use() ? Communicator::DuplicateOf(MPI_COMM_WORLD) : Communicator::Alone();
  if (mpi_.in_use() && mpi_.thread_level() < MPI_THREAD_MULTIPLE && communicator_->rank() == 0) {
    std::fputs("slipway: warning: MPI gives less than MPI_THREAD_MULTIPLE: collectives run in the calling thread\n",
               stderr);
  }
}

void Job::Configure(const char* config) {
  checkpoints_ =
      std::make_unique<Checkpoints>(CheckpointSettings(config != nullptr ? config : Variable("SLIPWAY_CONFIG")));
  stop_file_ = std::make_unique<StopFile>(Variable("SLIPWAY_STOP_FILE"));
  if (communicator_->rank() == 0) metrics_ = std::make_unique<MetricsFile>(Variable("SLIPWAY_METRICS"));
}

bool Job::InItsOwnProcess() const { return ::getpid() == process_; }

}  // namespace slipway::runtime
