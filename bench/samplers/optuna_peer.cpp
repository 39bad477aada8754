#include "bench/samplers/optuna_peer.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/process.h"

namespace slipway::bench {
namespace {

constexpr std::string_view kPrefix = "optuna-";

Json SpaceInOrder(const ensemble::SearchSpace& space) {
  Json list = Json::array();
  for (const auto& parameter : space.parameters()) list.push_back({parameter.name, ToJson(parameter)});
  return list;
}

}  // namespace

class PeerPipe {
 public:
  PeerPipe(ChildProcess child, UniqueFd to, UniqueFd from)
      : child_(std::move(child)), to_(std::move(to)), from_(std::move(from)) {}

  Json Exchange(const Json& request) {
    WriteAll(to_.get(), request.dump() + "\n", "the pipe to Optuna");
    auto line = ReadLine();
    if (!line)
      throw Error(ErrorKind::kEnvironment, "Optuna's process ended within a search",
                  "check the installation: /usr/bin/python3 -c 'import optuna'");
    return Json::parse(*line);
  }

  std::optional<std::string> ReadLine() {
    for (;;) {
      if (const auto end = pending_.find('\n'); end != std::string::npos) {
        auto line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      char buffer[4096];
      const auto got = ::read(from_.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      pending_.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  ChildProcess child_;
  UniqueFd to_, from_;
  std::string pending_;
};

namespace {

class PeerSearcher : public Searcher {
 public:
  PeerSearcher(PeerPipe& pipe, const Task& task) : pipe_(pipe) {
    pipe_.Exchange({{"do", "study"},
                    {"sampler", task.sampler.substr(kPrefix.size())},
                    {"seed", task.seed},
                    {"parallel", task.parallel},
                    {"space", SpaceInOrder(task.space)}});
  }

  Asked Ask() override {
    const auto answer = pipe_.Exchange(Json{{"do", "ask"}});
    return {ensemble::PointFromJson(answer.at("point")), answer.at("wall_s").get<double>(),
            answer.at("cpu_s").get<double>()};
  }

  void Tell(ensemble::TrialNumber trial, double value) override {
    pipe_.Exchange({{"do", "tell"}, {"number", trial}, {"value", value}});
  }

 private:
  PeerPipe& pipe_;
};

}  // namespace

const std::vector<std::string>& PeerNames() {
  static const std::vector<std::string> names = {"optuna-tpe", "optuna-tpe-multivariate", "optuna-cmaes", "optuna-qmc",
                                                 "optuna-random"};
  return names;
}

bool IsPeer(const std::string& sampler) { return std::ranges::find(PeerNames(), sampler) != PeerNames().end(); }

std::optional<OptunaPeer> OptunaPeer::Start() {
  const std::string python = "/usr/bin/python3";
  if (::access(python.c_str(), X_OK) != 0) return std::nullopt;
  auto requests = MakePipe();
  auto answers = MakePipe();
  SpawnOptions options;
  options.argv = {python, "-u", HelperProgram("bench-support") / "optuna_peer.py"};
  options.stdin_fd = requests.read.get();
  options.stdout_fd = answers.write.get();
  auto pipe =
      std::make_unique<PeerPipe>(ChildProcess::Spawn(options), std::move(requests.write), std::move(answers.read));
  answers.write.Reset();
  const auto hello = pipe->ReadLine();
  if (!hello) return std::nullopt;
  return OptunaPeer(std::move(pipe), Json::parse(*hello).at("optuna").get<std::string>());
}

OptunaPeer::OptunaPeer(std::unique_ptr<PeerPipe> pipe, std::string version)
    : pipe_(std::move(pipe)), version_(std::move(version)) {}
OptunaPeer::OptunaPeer(OptunaPeer&&) noexcept = default;
OptunaPeer& OptunaPeer::operator=(OptunaPeer&&) noexcept = default;
OptunaPeer::~OptunaPeer() = default;

const std::string& OptunaPeer::version() const { return version_; }

std::unique_ptr<Searcher> OptunaPeer::Search(const Task& task) { return std::make_unique<PeerSearcher>(*pipe_, task); }

}  // namespace slipway::bench
