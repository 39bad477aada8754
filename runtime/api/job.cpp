#include "runtime/api/job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Whether a launcher of MPI programs has started this process.
bool StartedByMpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

bool MpiIsInitialized() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

Json ParseConfiguration(const std::string& text) {
  if (text.empty()) return Json::object();
  try {
    auto config = Json::parse(text);
    if (config.is_object()) return config;
  } catch (const nlohmann::json::exception& error) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the configuration is not JSON: {}", error.what()));
  }
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, "the configuration is not a JSON object");
}

void WarnOnce(const Communicator& communicator, const char* text) {
  if (communicator.rank() == 0) std::fprintf(stderr, "slipway: warning: %s\n", text);
}

}  // namespace

Job::Job(const char* config) : process_(::getpid()) {
  Join();
  Configure(config);
}

void Job::Join() {
  const bool users_mpi = MpiIsInitialized();
  // Without MPI's launcher there is nobody to talk to; MPI's own start for a lone process would only cost time.
  if (!users_mpi && !StartedByMpi()) {
    communicator_ = Communicator::Alone();
    return;
  }
  int provided = MPI_THREAD_SINGLE;
  if (users_mpi) {
    MPI_Query_thread(&provided);
  } else {
    CheckMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    finalize_mpi_ = true;
  }
  communicator_ = Communicator::DuplicateOf(MPI_COMM_WORLD);
  if (provided < MPI_THREAD_MULTIPLE) {
    WarnOnce(*communicator_, "MPI gives less than MPI_THREAD_MULTIPLE: collectives run in the calling thread");
  }
}

void Job::Configure(const char* config) {
  const auto json = ParseConfiguration(config != nullptr ? config : Variable("SLIPWAY_CONFIG"));
  Checkpoints::Settings settings;
  settings.directory = Variable("SLIPWAY_CHECKPOINT_DIR");
  settings.resume_from = Variable("SLIPWAY_RESUME_FROM");
  settings.keep = json.value("/checkpoint/keep"_json_pointer, 2);
  settings.spec_hash = json.value("spec_hash", std::string());
  checkpoints_ = std::make_unique<Checkpoints>(std::move(settings));
  stop_file_ = std::make_unique<StopFile>(Variable("SLIPWAY_STOP_FILE"));
  if (communicator_->rank() == 0) metrics_ = std::make_unique<MetricsFile>(Variable("SLIPWAY_METRICS"));
}

Job::~Job() {
  if (!InItsOwnProcess()) {
    // MPI belongs to the parent: forget the communicator without freeing it.
    static_cast<void>(communicator_.release());
    return;
  }
  teams_.clear();
  communicator_.reset();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalize_mpi_ && finalized == 0) MPI_Finalize();
}

bool Job::InItsOwnProcess() const { return ::getpid() == process_; }

}  // namespace slipway::runtime
