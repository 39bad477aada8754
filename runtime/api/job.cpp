#include "runtime/api/job.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "runtime/api/node_ways.h"
#include "runtime/collectives/broadcast.h"
#include "runtime/exchange/team_errors.h"
#include "runtime/group/agreement.h"
#include "runtime/group/launcher_variables.h"
#include "runtime/group/processor_share.h"
#include "runtime/group/share_within_node.h"
#include "runtime/selection/bits.h"
#include "runtime/status.h"
#include "runtime/trace/job_trace.h"
#include "runtime/watch/status_table_transfer.h"

namespace slipway::runtime {
namespace {

bool IsOpenMpi(const std::string& mpi) { return mpi.starts_with("Open MPI"); }

std::string NextStep(const StartedRanks& started, bool open_mpi) {
  if (started.by.launcher == RankLauncher::kSlurm) {
    return fmt::format("srun did not connect this MPI with the other ranks; start the job with srun --mpi={}",
                       open_mpi ? "pmix" : "pmi2");
  }
  return fmt::format(
      "another MPI's launcher started the job; start it with the mpirun of {}, or take the libslipway for the "
      "launcher's MPI: put lib/slipway/{} first in LD_LIBRARY_PATH",
      open_mpi ? "Open MPI" : "MPICH", open_mpi ? "mpich" : "openmpi");
}

/// Refuses a rank that MPI sees as its only one (`ranks` is 1) although its launcher started several. MPI was then not
/// reached through the interface of this launcher, and every rank would silently train alone.
/// Errors: RuntimeError: MPI, naming both and the next step.
void RequireStartedRanks(int ranks) {
  if (ranks > 1) return;
  const auto mpi = NameOfMpi();
  const auto started = FindStartedRanks(IsOpenMpi(mpi));
  if (started.ranks <= 1) return;
  throw RuntimeError(SLIPWAY_ERROR_MPI,
                     fmt::format("{} ranks were started ({}), but {}, which libslipway here is built for, sees one: {}",
                                 started.ranks, started.by.name, mpi, NextStep(started, IsOpenMpi(mpi))));
}

std::string HostName() {
  char name[256] = "?";
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// Of all ranks of the job, by rank. Collective.
std::vector<RankPlace> PlacesOfRanks(Communicator& communicator) {
  struct Entry {
    char host[64] = {};
    std::int64_t process = 0;
  };
  Entry own;
  HostName().copy(own.host, sizeof own.host - 1);
  own.process = ::getpid();
  std::vector<RankPlace> places;
  for (const auto& entry : AllgatherValues(communicator, own)) places.push_back({entry.host, entry.process});
  return places;
}

int RankInWorld(const MpiLibrary& mpi) {
  int rank = 0;
  if (mpi.in_use()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// For the ranks that come to slipway_init before others. What is wrong with `config` is said later, by all ranks
/// together.
WatchSettings EarlyWatchSettings(const char* config) {
  try {
    return ReadSettings(config).watch;
  } catch (const std::exception&) {
    return {};
  }
}

/// A rank may come to slipway_init minutes after others, which load less before it: only what takes several times as
/// long as a stall may take is one.
constexpr int kStartPatience = 5;

StartAlarm::Settings StartAlarmSettings(const char* config) {
  const auto watch = EarlyWatchSettings(config);
  const auto rank = Variable("RANK");
  StartAlarm::Settings settings;
  settings.patience = kStartPatience * watch.stall_after;
  if (!rank.empty()) settings.rank = std::atoi(rank.c_str());
  settings.monitor = Variable(kMonitorVariable);
  settings.report = watch.report;
  return settings;
}

}  // namespace

Job::Job(const char* config)
    : process_(::getpid()), mpi_(StartAlarmSettings(config)), memory_{SharedPool(SharedMemoryLimit().value_or(0)), {}} {
  try {
    Enter(config);
    mpi_.NoteJoined();
  } catch (const PartedError&) {
    mpi_.Abandon();  // its end would wait for the ranks that did not come
    throw;
  }
}

void Job::Enter(const char* config) {
  watch_.Configure(EarlyWatchSettings(config));
  Join();
  JoinWatch();
  OnAllRanks(communicator(), [&] { Configure(config); });
  auto& group = all();
  bool matter = false;
  OnAllRanks(communicator(), [&] { matter = WaysMatter(group.placement()); });
  if (communicator().Min(matter ? 1 : 0) == 1) ways_ = WaysOfNode(group, Variable("SLIPWAY_WAYS"));
  OnAllRanks(communicator(), [&] { group.SetSelection(Selection(group.placement())); });
  RequireSameSettings();
  auto& gradients = settings_.gradients;
  if (gradients.any_bits && !group.alone()) {
    gradients.gpu_mpi_has_worked = GpuMpiHasWorked(group, Variable("SLIPWAY_WAYS"));
  }
  device_allreduces_.Use(gradients);
  calls_.Begin(settings_.trace.chrome);
  watch_.Entered();
}

/// With other settings a rank would choose another algorithm than the rest, and wait for messages that no rank sends.
void Job::RequireSameSettings() {
  const auto& selection = all().selection();
  RequireSameCall(fmt::format("settings {} and algorithms {}{}", settings_.shared, selection.table.ToText(),
                              selection.canonical ? ", canonical" : ""),
                  {}, communicator());
  RequireSameGpuExchange();
}

/// The configuration is the same: only the variable can make a difference.
void Job::RequireSameGpuExchange() {
  const std::string own(WordOf(settings_.gradients.gpu_exchange));
  const auto first = communicator().BroadcastText(own, 0);
  OnAllRanks(communicator(), [&] {
    if (own == first) return;
    throw RuntimeError(SLIPWAY_ERROR_MISMATCH,
                       fmt::format("exchanges GPU memory by '{}', but rank 0 by '{}': SLIPWAY_GPU_EXCHANGE differs "
                                   "between ranks; set it to one value on all nodes, or unset it",
                                   own, first));
  });
}

void Job::Join() {
  watch_.Announce(RankInWorld(mpi_), Variable(kMonitorVariable));
  auto communicator =
      mpi_.in_use() ? Communicator::OfJob(MPI_COMM_WORLD, NewWaiter(false)) : Communicator::Alone(NewWaiter(false));
  RequireStartedRanks(communicator->size());
  RequireSameVersion(*communicator, std::string(Version()));  // first: what ranks share has the layout of their version
  if (mpi_.in_use() && mpi_.thread_level() < MPI_THREAD_MULTIPLE && communicator->rank() == 0) {
    std::fputs("slipway: warning: MPI gives less than MPI_THREAD_MULTIPLE: collectives run in the calling thread\n",
               stderr);
  }
  groups_[SLIPWAY_ALL] = NewGroup(std::move(communicator));
  all_ = groups_[SLIPWAY_ALL].get();
}

std::unique_ptr<Group> Job::NewGroup(std::unique_ptr<Communicator> communicator) {
  auto topology = FindTopology(*communicator, Nodes::kAsAsked);
  communicator->SetWaiter(NewWaiter(topology.crowded));
  return std::make_unique<Group>(std::move(communicator), std::move(topology), memory_);
}

/// One table for the ranks of each real node, however they are grouped for collectives.
void Job::JoinWatch() {
  const auto topology = FindTopology(communicator(), Nodes::kReal);
  local_rank_ = topology.local_rank;
  local_size_ = topology.local_size();
  LimitByShare(memory_.threads, FindProcessorShare(communicator(), topology));
  PointToPoint node(communicator(), topology.local);
  const auto bytes = StatusTableBytes(static_cast<std::size_t>(topology.local_size()));
  auto table = topology.local_size() > 1 ? ShareWithinNode(node, bytes) : SharedMemory();
  watch_.Join(rank(), PlacesOfRanks(communicator()), std::move(table), topology.local_size(), topology.local_rank);
}

void Job::Configure(const char* config) {
  settings_ = ReadSettings(config);
  RequireKnownValues();
  if (!SharedMemoryLimit()) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("SLIPWAY_SHARED_MEMORY_LIMIT is '{}', not a number of bytes such as 8GiB",
                                   Variable("SLIPWAY_SHARED_MEMORY_LIMIT")));
  }
  if (const auto way = Variable("SLIPWAY_GPU_EXCHANGE"); !way.empty()) {
    settings_.gradients = WithChanges(settings_.gradients, {{"gpu_exchange", way}});
  }
  if (const auto waits = Variable("SLIPWAY_GPU_WAIT"); !waits.empty()) {
    settings_.gradients.gpu_waits = GpuWaitsFrom(waits);
  }
  if (const auto threads = Variable("SLIPWAY_GPU_SUM_THREADS"); !threads.empty()) {
    memory_.threads.Use(GpuSumThreadsFrom(threads));
  }
  watch_.Configure(settings_.watch);
  checkpoints_ = std::make_unique<Checkpoints>(settings_.checkpoints);
  stop_file_ = std::make_unique<StopFile>(Variable("SLIPWAY_STOP_FILE"));
  if (rank() != 0) return;
  if (const auto path = Variable("SLIPWAY_METRICS"); !path.empty()) metrics_ = std::make_unique<MetricsFile>(path);
  if (const auto path = Variable("SLIPWAY_MLLOG"); !path.empty()) run_log_ = std::make_unique<MllogFile>(path);
}

AlgorithmTable Job::TableWith(std::string_view ways, const Placement& placement) const {
  auto table = AlgorithmTable::Default(placement, settings_.network);
  if (placement.one_shared_node()) table = table.With(ways);
  if (const auto file = Variable("SLIPWAY_ALGORITHM_TABLE"); !file.empty()) {
    table = table.WithTuned(ReadFile(file), file, placement);
  }
  return table.With(settings_.algorithms).With(Variable("SLIPWAY_ALGORITHMS"));
}

/// False where ranks do not share a node's memory, and where the settings leave nothing to the measured ways.
bool Job::WaysMatter(const Placement& placement) const try {
  if (placement.ranks == 1 || !placement.one_shared_node()) return false;
  return TableWith("shared_together", placement) != TableWith("shared_direct", placement);
} catch (const Error& error) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the configuration is wrong: {}", error.what()));
}

SelectionSettings Job::Selection(const Placement& placement) const try {
  return {TableWith(ways_, placement), settings_.canonical};
} catch (const Error& error) {
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("the configuration is wrong: {}", error.what()));
}

bool Job::InItsOwnProcess() const { return ::getpid() == process_; }

bool Job::HasGroup(int number) {
  const std::lock_guard lock(groups_mutex_);
  return groups_.contains(number);
}

Group* Job::FindGroup(int number) {
  const std::lock_guard lock(groups_mutex_);
  const auto found = groups_.find(number);
  return found == groups_.end() ? nullptr : found->second.get();
}

Group& Job::GroupOf(int number) {
  if (!HasGroup(number)) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("there is no group {}: call slipway_group_create", number));
  }
  if (auto* group = FindGroup(number)) return *group;
  throw RuntimeError(SLIPWAY_ERROR_ARGUMENT, fmt::format("rank {} is not in group {}", rank(), number));
}

int Job::MakeGroup(std::span<const int> ranks) {
  auto part = communicator().Subgroup(ranks, NewWaiter(false));
  auto group = part != nullptr ? NewGroup(std::move(part)) : nullptr;
  OnAllRanks(communicator(), [&] {
    if (group != nullptr) group->SetSelection(Selection(group->placement()));
  });
  const std::lock_guard lock(groups_mutex_);
  groups_[next_group_] = std::move(group);
  return next_group_++;
}

int Job::MakeGroupByMembers(std::span<const int> ranks, int tag) {
  if (!all().alone() && !ThreadsMayCommunicate()) {
    throw RuntimeError(
        SLIPWAY_ERROR_STATE,
        "groups that threads use at the same time need MPI_THREAD_MULTIPLE: let slipway_init start MPI, or "
        "start it with MPI_Init_thread");
  }
  auto group = NewGroup(communicator().SubgroupByMembers(ranks, tag, NewWaiter(false)));
  OnAllRanks(group->communicator(), [&] { group->SetSelection(Selection(group->placement())); });
  const std::lock_guard lock(groups_mutex_);
  groups_[next_by_members_] = std::move(group);
  return next_by_members_++;
}

void Job::FreeGroup(int number) {
  auto& those_who_made_it = IsByMembers(number) ? GroupOf(number).communicator() : communicator();
  those_who_made_it.Barrier();
  if (auto* group = FindGroup(number)) {
    device_allreduces_.Forget(*group);
    calls_.Forget(*group);
  }
  const std::lock_guard lock(groups_mutex_);
  groups_.erase(number);
}

Team& Job::TeamOf(const std::string& name) {
  const auto found = teams_.find(name);
  if (found == teams_.end()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' is not registered: call slipway_register", name));
  }
  return *found->second;
}

std::unique_ptr<StepSums> Job::NewSums(const TeamParts& parts) {
  return MakeStepSums({.every = settings_.trace.sums,
                       .folder = settings_.attempt_folder,
                       .rank = rank(),
                       .ranks = all().size(),
                       .resumed = !settings_.checkpoints.resume_from.empty()},
                      ++teams_made_, parts.name, parts.tensors);
}

void Job::MakeTeam(TeamParts parts) {
  parts.sums = NewSums(parts);
  auto& group = all();
  auto own = std::make_unique<Group>(communicator().Duplicate(communicator().waiter()), group.topology(), memory_);
  own->SetSelection(group.selection());
  const auto progress = ThreadsMayCommunicate() ? Progress::kThread : Progress::kCaller;
  const auto name = parts.name;
  teams_.emplace(name, std::make_unique<Team>(std::move(parts), std::move(own), progress, watch_, settings_.trace));
}

/// Collective.
Json Job::TotalsOf(Team& team) {
  auto totals = team.trace().Totals(communicator());
  totals.update(team.GpuFacts());
  bits_of_cpu_ = bits_of_cpu_ && team.HasBitsOfCpu();
  if (rank() == 0 && team.GoesByGpuMpi() && team.step() > 0) {
    NoteThatGpuMpiWorks(all().topology().nodes(), Variable("SLIPWAY_WAYS"));
  }
  return totals;
}

void Job::ForgetTeam(const std::string& name) {
  auto& team = TeamOf(name);
  team.Drain();
  past_teams_.push_back(TotalsOf(team).dump());
  std::ranges::move(team.trace().TakeSpans(), std::back_inserter(past_spans_));
  communicator().Barrier();
  const bool mapped = team.MapsMemory();
  teams_.erase(name);
  if (mapped) communicator().Barrier();  // the program may free memory that the other ranks had mapped
}

void Job::AwaitResults() {
  for (auto& [name, team] : teams_) team->AwaitResult();
  Parting([&] { device_allreduces_.AwaitSums(communicator().waiter()); });
}

ParameterServer& Job::ServerOf(const std::string& name) {
  const auto found = servers_.find(name);
  if (found == servers_.end()) {
    throw RuntimeError(SLIPWAY_ERROR_STATE,
                       fmt::format("there is no parameter server '{}': call slipway_server_create", name));
  }
  return *found->second;
}

void Job::MakeServer(ServerParts parts) {
  OnAllRanks(communicator(), [&] {
    if (all().alone() || ThreadsMayCommunicate()) return;
    throw RuntimeError(SLIPWAY_ERROR_STATE,
                       "a parameter server needs MPI_THREAD_MULTIPLE: let slipway_init start MPI, or start it with "
                       "MPI_Init_thread");
  });
  for (const auto& tensor : parts.parameters) Broadcast(tensor.data, tensor.bytes(), 0, all().members());
  auto own = communicator().Duplicate(communicator().waiter());
  const auto name = parts.name;
  std::unique_ptr<ParameterServer> server;
  OnAllRanks(communicator(),
             [&] { server = std::make_unique<ParameterServer>(std::move(parts), std::move(own), watch_); });
  servers_.emplace(name, std::move(server));
}

void Job::FreeServer(const std::string& name) {
  communicator().Barrier();
  servers_.erase(name);
}

void Job::BeginInput() { input_start_ = StepTrace::Clock::now(); }

void Job::EndInput() {
  if (!input_start_) throw RuntimeError(SLIPWAY_ERROR_STATE, "call slipway_input_begin first");
  const auto end = StepTrace::Clock::now();
  for (auto& [name, team] : teams_) team->trace().AddInput(*input_start_, end);
  if (teams_.empty()) calls_.AddInput(*input_start_, end);
  input_start_.reset();
}

void Job::RequireNoStepInFlight() {
  constexpr auto kNext = "call slipway_wait first, in PyTorch optimizer.step() or synchronize()";
  std::string first;  // of the teams whose step all ranks have begun
  for (const auto& [name, team] : teams_) {
    const auto begun = AllgatherValues(communicator(), team->InFlight() ? team->step() : -1);
    const auto with = std::ranges::find_if(begun, [](auto step) { return step >= 0; });
    if (with == begun.end()) continue;
    const auto other = std::ranges::find_if(begun, [&](auto step) { return step != *with; });
    if (other == begun.end()) {
      if (first.empty()) first = name;
      continue;
    }
    throw RuntimeError(SLIPWAY_ERROR_MISMATCH,
                       fmt::format("team '{}' has step {} in flight on rank {}, but not on rank {}: {}, on all ranks",
                                   name, *with, with - begun.begin(), other - begun.begin(), kNext));
  }
  if (first.empty()) return;
  throw RuntimeError(SLIPWAY_ERROR_STATE, fmt::format("team '{}' has a step in flight: {}", first, kNext));
}

std::exception_ptr Job::Leave() {
  RequireNoStepInFlight();
  for (auto& [name, team] : teams_) team->Drain();
  std::exception_ptr unwritten;
  try {
    Report();
  } catch (const PartedError&) {
    throw;
  } catch (const std::exception&) {
    unwritten = std::current_exception();
  }
  for (auto& [name, team] : teams_) team->CloseDevices();
  for (const auto& [number, group] : groups_) {
    if (group != nullptr) device_allreduces_.Close(*group);
  }
  communicator().Barrier();
  NoteGpuMpiOfAllreduces();
  servers_.clear();
  watch_.Finished();
  return unwritten;
}

void Job::NoteGpuMpiOfAllreduces() {
  if (rank() != 0) return;
  for (const int nodes : device_allreduces_.NodesOfGpuMpi()) NoteThatGpuMpiWorks(nodes, Variable("SLIPWAY_WAYS"));
}

Json Job::BitsOfJob() {
  return ToJson(BasisOfBits(all().selection().table, all().size(), all().topology().local_size(), settings_.canonical,
                            settings_.gradients.bucket_bytes, Version()));
}

/// Of those that are unregistered, too. Adds their spans. Collective.
Json Job::TotalsOfTeams(std::vector<Span>& spans) {
  Json teams = Json::array();
  for (const auto& totals : past_teams_) teams.push_back(Json::parse(totals));
  std::ranges::copy(past_spans_, std::back_inserter(spans));
  for (auto& [name, team] : teams_) {
    teams.push_back(TotalsOf(*team));
    std::ranges::move(team->trace().TakeSpans(), std::back_inserter(spans));
  }
  return teams;
}

void Job::WarnWithoutTrace(bool exchanged) {
  if (!settings_.trace.chrome || rank() != 0) return;
  std::fputs(exchanged ? "slipway: warning: trace.json is not written: SLIPWAY_METRICS names no folder; start the "
                         "program with slipway run\n"
                       : "slipway: warning: trace.json is not written: the program has exchanged nothing through "
                         "Slipway between ranks\n",
             stderr);
}

void Job::Report() {
  auto allreduces = device_allreduces_.FactsOfAll(communicator());
  auto collectives = calls_.Totals(communicator());
  const bool exchanged = !teams_.empty() || !past_teams_.empty() || !allreduces.empty() || !collectives.is_null();
  const auto attempt = communicator().BroadcastText(exchanged ? settings_.attempt_folder : "", 0);
  if (attempt.empty()) return WarnWithoutTrace(exchanged);
  const std::filesystem::path folder(attempt);
  auto spans = calls_.TakeSpans();
  auto teams = TotalsOfTeams(spans);
  const bool own_bits_of_cpu = bits_of_cpu_ && device_allreduces_.HaveBitsOfCpu();
  const bool bits_of_cpu = communicator().Min(own_bits_of_cpu ? 1 : 0) == 1;
  const auto placement = all().placement();
  Json facts{{"version", Version()},
             {"ranks", placement.ranks},
             {"nodes", placement.nodes},
             {"shared_memory", placement.shared_memory},
             {"algorithms", all().selection().table.ToText()},
             {"canonical", settings_.canonical},
             {"bucket_bytes", settings_.gradients.bucket_bytes},
             {"bits", bits_of_cpu ? BitsOfJob() : Json()},
             {"teams", std::move(teams)}};
  if (!collectives.is_null()) facts["collectives"] = std::move(collectives);
  if (!allreduces.empty()) facts["gpu_allreduce"] = std::move(allreduces);
  WriteCommunicationReport(folder / "comm.json", std::move(facts), communicator());
  if (settings_.trace.chrome) WriteChromeTrace(folder / "trace.json", spans, communicator());
}

}  // namespace slipway::runtime
