#include "launcher/view/read_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/lines.h"
#include "core/metrics_line.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostPoints = 60'000;  // of all curves of a run
constexpr std::size_t kMostPointsOfOne = 1'200;
constexpr std::size_t kFewestPointsOfOne = 8;
constexpr int kMostNames = 200;

/// More digits make pages larger, and no picture better.
double Shortened(double value) {
  double shortened = value;
  ParseNumber(fmt::format("{:.7g}", value), shortened);
  return shortened;
}

double ToCentiseconds(double time) { return std::round(time * 100) / 100; }

std::optional<double> IfFinite(double value) {
  return std::isfinite(value) ? std::optional(Shortened(value)) : std::nullopt;
}

}  // namespace

void CurveSet::Add(std::optional<ensemble::TrialNumber> trial, const std::string& name, int attempt,
                   const CurvePoint& point) {
  if (const auto found = curves_.find(std::tuple(trial, std::string_view(name), attempt)); found != curves_.end()) {
    return found->second.Add(point);
  }
  if (!names_.contains(name) && names_.size() >= kMostNames) {
    left_out_ = true;
    return;
  }
  names_.insert(name);
  curves_.try_emplace({trial, name, attempt}, most_points_).first->second.Add(point);
}

std::vector<CurveView> CurveSet::Views() const {
  std::vector<CurveView> views;
  for (const auto& [key, thinner] : curves_) {
    CurveView view;
    std::tie(view.trial, view.metric, view.attempt) = key;
    view.count = thinner.count();
    view.not_finite = thinner.not_finite();
    view.lowest = IfFinite(thinner.lowest());
    view.highest = IfFinite(thinner.highest());
    for (const auto& point : thinner.Points()) {
      view.step.push_back(point.step);
      view.value.push_back(IfFinite(point.value));
      view.time.push_back(ToCentiseconds(point.time));
    }
    views.push_back(std::move(view));
  }
  return views;
}

RunCurves::RunCurves(const RunFolder& folder, BytesRead on_read)
    : folder_(folder), curves_(std::make_shared<CurveSet>(kMostPointsOfOne)), on_read_(std::move(on_read)) {}

void RunCurves::Poll(int attempts) {
  for (int attempt = static_cast<int>(files_.size()) + 1; attempt <= attempts; ++attempt) {
    const auto take = [attempt, curves = curves_, reader = MetricsReader()](std::string_view text) mutable {
      const auto line = reader.Read(text);
      if (!line) return;
      for (const auto& [name, value] : line->values) {
        curves->Add({}, name, attempt, {static_cast<double>(line->step), value, line->time.value_or(0)});
      }
    };
    files_.emplace_back(folder_.attempt(attempt) / "metrics.jsonl", take, on_read_);
  }
  for (auto& file : files_) file.Poll();
}

CurveSet ReadTrialCurves(ensemble::TrialBook& book, std::size_t trials) {
  CurveSet curves(std::clamp(kMostPoints / std::max<std::size_t>(1, trials), kFewestPointsOfOne, kMostPointsOfOne));
  book.ForEachMetric([&](const ensemble::MetricRecord& metric) {
    curves.Add(metric.trial, metric.name, metric.attempt,
               {static_cast<double>(metric.step), metric.value, metric.time.value_or(0)});
  });
  return curves;
}

}  // namespace slipway::launcher
