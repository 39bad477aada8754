#include "trainers/common/report.h"

#include <fmt/format.h>

#include <cstdio>

namespace trainers {
namespace {

void Say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

/// 594,178
std::string WithCommas(std::int64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

}  // namespace

Report::Report(const Task& task, slipway::client::Session& session, const Progress& progress,
               std::int64_t steps_per_epoch)
    : task_(task), session_(session), progress_(progress), steps_per_epoch_(steps_per_epoch) {}

void Report::Begin(const Beginning& beginning, const Arguments& arguments) {
  const auto& share = beginning.share;
  Line(fmt::format("{} parameters", WithCommas(beginning.parameters)));
  Line(fmt::format(
      "{} training and {} validation {}, {} a step on {} {}{}, {} with lr {}{}", beginning.training_records,
      beginning.validation_records, task_.records(), share.Global(), share.ranks, share.ranks == 1 ? "rank" : "ranks",
      share.passes == 1 ? "" : fmt::format(" in {} passes", share.passes), arguments.optimizer, arguments.rate.base,
      arguments.ema > 0 ? fmt::format(", weights averaged with decay {}", arguments.ema) : ""));
  Value("parameters", static_cast<double>(beginning.parameters));
}

void Report::GoOn(const Arguments& arguments) {
  Line(fmt::format("continuing at epoch {}, step {}", progress_.epoch + 1, progress_.step));
  const bool averages = arguments.ema > 0;
  if (averages == progress_.average_updates.has_value()) return;
  Line(averages ? "the checkpoint holds no averaged weights: the average begins with its weights"
                : "the averaged weights of the checkpoint are left out: ema is 0");
}

void Report::Value(const std::string& name, double value) {
  const auto part = static_cast<double>(progress_.step_in_epoch) / static_cast<double>(steps_per_epoch_);
  session_.Report(progress_.step, static_cast<double>(progress_.epoch) + part, name, value);
}

void Report::Epoch(const Sums& train, const std::optional<Evaluated>& validation, const Pace& pace) {
  SumsOf("train", train);
  if (validation) Values("validation", *validation);
  auto text = fmt::format("epoch {}  loss {:.4f}{}", progress_.epoch + 1, train.MeanLoss(), Described("", train));
  if (validation) text += Described("validation ", validation->sums, validation->further);
  if (pace.records > 0) {
    const double rate = static_cast<double>(pace.records) / pace.seconds;
    Value(fmt::format("{}_per_second", task_.records()), rate);
    Value("input_wait_share", pace.waited_s / pace.seconds);
    text += fmt::format("  {:.4g} {}/s", rate, task_.records());
  }
  Line(text);
}

void Report::Values(const std::string& set, const Evaluated& evaluated) {
  SumsOf(set, evaluated.sums);
  for (const auto& [name, value] : evaluated.further) Value(set + "_" + name, value);
}

void Report::Test(const Evaluated& evaluated) {
  Values("test", evaluated);
  Line(Described("test ", evaluated.sums, evaluated.further).substr(2));
}

void Report::Skipped(const std::string& set, Records& records) {
  const auto skipped = records.TakeSkipped();
  if (!skipped) return;
  for (const auto& record : skipped->first_met)
    Say(fmt::format("damaged, skipped: {}: {}", record.where, record.reason));
  double count[] = {static_cast<double>(skipped->count)};
  session_.Sum(count);
  Value(set + "_skipped", count[0]);
  if (count[0] > 0) Line(fmt::format("{} damaged {} of {} skipped", count[0], task_.records(), set));
}

void Report::Line(const std::string& text) const {
  if (session_.rank() == 0) Say(text);
}

void Report::SumsOf(const std::string& set, const Sums& sums) {
  Value(set + "_loss", sums.MeanLoss());
  const auto names = task_.MeasureNames();
  for (std::size_t i = 0; i < names.size(); ++i) Value(set + "_" + names[i], sums.Mean(i));
}

/// "  validation accuracy 0.8123  validation auc 0.9"
std::string Report::Described(const std::string& set, const Sums& sums, const NamedValues& further) const {
  std::string text;
  const auto names = task_.MeasureNames();
  for (std::size_t i = 0; i < names.size(); ++i) text += fmt::format("  {}{} {:.4f}", set, names[i], sums.Mean(i));
  for (const auto& [name, value] : further) text += fmt::format("  {}{} {:.4f}", set, name, value);
  return text;
}

}  // namespace trainers
