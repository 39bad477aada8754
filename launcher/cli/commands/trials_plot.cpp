#include "launcher/cli/commands/trials_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/output.h"
#include "ensemble/analysis/importance.h"
#include "ensemble/exchange/stored_space.h"
#include "ensemble/search/results/observations.h"
#include "launcher/cli/commands/trials_leaderboard.h"
#include "launcher/cli/plots/charts.h"
#include "launcher/cli/plots/svg.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

using ensemble::Parameter;
using ensemble::TrialRecord;

constexpr double kPartThatStandsOut = 0.1;

struct Picture {
  std::string file;
  std::string svg;
};

/// The complete trials of a study in the order of their numbers, and which of them are the best tenth.
struct Subject {
  std::vector<TrialRecord> trials;
  std::vector<bool> stands_out;
  std::vector<Parameter> parameters;
  const ensemble::StudyRecord& study;

  Axis Values(std::size_t objective) const {
    std::vector<double> values;
    for (const auto& trial : trials) values.push_back(ValuesOf(trial)[objective]);
    const auto& of = study.objectives[objective];
    return AxisFor(of.ValueName(), values);
  }
};

std::string Hint(const TrialRecord& trial) {
  return fmt::format("trial {}: {:.6g}\n{}", trial.number, *trial.objective, ensemble::Describe(trial.parameters));
}

Subject SubjectOf(const TrialsView& view) {
  Subject subject{{}, {}, ensemble::StoredSpace(view.study).parameters(), view.study};
  for (const auto& trial : RecordsByNumber(view)) {
    if (trial.state == ensemble::TrialState::kComplete && HasAllValues(trial, view.study)) {
      subject.trials.push_back(trial);
    }
  }
  if (subject.trials.empty()) {
    throw Error(ErrorKind::kUsage, "no trial is complete: there is nothing to draw", "see slipway trials ls");
  }
  std::vector<double> values;
  for (const auto& trial : subject.trials) values.push_back(LowerIsBetter({*trial.objective}, view.study)[0]);
  auto sorted = values;
  std::ranges::sort(sorted);
  const auto last = std::ceil(kPartThatStandsOut * static_cast<double>(sorted.size())) - 1;
  for (const double value : values) subject.stands_out.push_back(value <= sorted[static_cast<std::size_t>(last)]);
  return subject;
}

std::string History(const Subject& subject) {
  const auto goal = subject.study.objectives.front().ValueGoal();
  ScatterPlot plot{"Complete trials and the best so far", {}, subject.Values(0), {}, {}};
  for (const auto& trial : subject.trials) {
    const auto number = static_cast<double>(trial.number);
    const bool better = plot.steps.empty() || ensemble::IsBetter(*trial.objective, plot.steps.back().second, goal);
    plot.marks.push_back({number, *trial.objective, better, Hint(trial)});
    plot.steps.emplace_back(number, better ? *trial.objective : plot.steps.back().second);
  }
  plot.x = LinearAxis("trial", 0, static_cast<double>(subject.trials.back().number));
  return Draw(plot);
}

std::string Slice(const Subject& subject, const Parameter& parameter) {
  ScatterPlot plot{parameter.name + ": the best tenth stands out", AxisOf(parameter), subject.Values(0), {}, {}};
  for (std::size_t i = 0; i < subject.trials.size(); ++i) {
    const auto& trial = subject.trials[i];
    const auto* value = ensemble::Find(trial.parameters, parameter.name);
    const auto x = value != nullptr ? ValueOnAxis(parameter.domain, *value) : std::nullopt;
    if (x) plot.marks.push_back({*x, *trial.objective, subject.stands_out[i], Hint(trial)});
  }
  return Draw(plot);
}

std::string Parallel(const Subject& subject) {
  ParallelPlot plot{"Parameters: the best tenth stands out", {}, {}};
  plot.axes.push_back(subject.Values(0));
  for (const auto& parameter : subject.parameters) plot.axes.push_back(AxisOf(parameter));
  for (std::size_t i = 0; i < subject.trials.size(); ++i) {
    ParallelPlot::Thread thread{{*subject.trials[i].objective}, subject.stands_out[i]};
    for (const auto& parameter : subject.parameters) {
      const auto* value = ensemble::Find(subject.trials[i].parameters, parameter.name);
      thread.values.push_back(value != nullptr ? ValueOnAxis(parameter.domain, *value) : std::nullopt);
    }
    plot.threads.push_back(std::move(thread));
  }
  return Draw(plot);
}

/// Nothing for fewer trials than tell anything.
std::optional<std::string> Importance(const TrialsView& view) {
  const auto encoding = ensemble::Encoding(ensemble::StoredSpace(view.study));
  const ensemble::TrialTable table(RecordsByNumber(view));
  ensemble::ObservationLog log(encoding, view.study.objectives.front().ValueGoal());
  const auto& known = log.Update(table.size(), table);
  if (view.trials.size() < ensemble::kFewestTrialsForImportance) return std::nullopt;
  BarPlot plot{"Importance of the parameters", LinearAxis("share", 0, 1), {}};
  try {
    for (const auto& [parameter, share] : ensemble::ImportancesOf(encoding, known).parameters) {
      plot.bars.emplace_back(parameter, share.mean);
    }
  } catch (const Error&) {  // too few of them have a value
    return std::nullopt;
  }
  return Draw(plot);
}

std::string Front(const Subject& subject, const TrialsView& view) {
  ScatterPlot plot{"Front: what no other trial beats", subject.Values(0), subject.Values(1), {}, {}};
  for (const auto& row : LeaderboardOf(view)) {
    if (!row.front) continue;
    const auto values = ValuesOf(row.trial);
    plot.marks.push_back({values[0], values[1], *row.front == 1, Hint(row.trial)});
  }
  return Draw(plot);
}

std::vector<Picture> PicturesOf(const TrialsView& view) {
  const auto subject = SubjectOf(view);
  std::vector<Picture> pictures = {{"history.svg", History(subject)}};
  if (view.study.objectives.size() > 1) pictures.push_back({"front.svg", Front(subject, view)});
  if (auto importance = Importance(view)) pictures.push_back({"importance.svg", std::move(*importance)});
  pictures.push_back({"parallel.svg", Parallel(subject)});
  // Names of parameters may be anything; names of files are numbers.
  for (std::size_t i = 0; i < subject.parameters.size(); ++i) {
    pictures.push_back({fmt::format("slice-{}.svg", i), Slice(subject, subject.parameters[i])});
  }
  return pictures;
}

std::string PageOf(const std::string& title, const std::vector<Picture>& pictures) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n<style>:root{{color-scheme:"
      "light dark}}body{{font:15px system-ui,sans-serif;margin:2em}}svg{{max-width:100%;height:auto}}</style></head>\n"
      "<body><h1>{0}</h1>\n",
      EscapeXml(title));
  for (const auto& picture : pictures) page += fmt::format("<figure>\n{}</figure>\n", picture.svg);
  return page + "</body></html>\n";
}

}  // namespace

int TrialsPlot(const TrialsPlotOptions& options, Output& output) {
  const auto view = OpenTrials(options.run_folder);
  auto files = PicturesOf(view);
  files.push_back({"index.html", PageOf(options.run_folder.filename().string(), files)});
  const auto out = options.out.empty() ? options.run_folder / "plots" : options.out;
  MakeDirectories(out);
  Json written = Json::array();
  for (const auto& [name, content] : files) {
    WriteFileAtomically(out / name, content);
    written.push_back((out / name).string());
  }
  const auto page = (out / "index.html").string();
  output.Print({Json{{"schema", "slipway.trials.plot/1"}, {"page", page}, {"files", written}},
                fmt::format("written: {} pictures, all in {}\n", files.size() - 1, page), page + "\n"});
  return 0;
}

}  // namespace slipway::launcher
