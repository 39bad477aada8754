#include "core/progress.h"

#include <fmt/format.h>

namespace slipway {

std::string ProgressText(std::string_view label, Bytes done, Bytes total, Seconds elapsed, std::string_view current) {
  const double fraction = total.count == 0 ? 1.0 : static_cast<double>(done.count) / static_cast<double>(total.count);
  auto text = fmt::format("{}  {:3.0f}%  {} of {}", label, fraction * 100, FormatBytes(done), FormatBytes(total));
  if (elapsed.count() > 0 && done.count > 0) {
    text += "  " + FormatRate(done, elapsed);
    if (done < total) text += "  " + FormatDuration(elapsed * (1 / fraction - 1)) + " left";
  }
  if (!current.empty()) text += fmt::format("  {}", current);
  return text;
}

Progress::Progress(Output& output, std::string label, Bytes total, Clock& clock)
    : output_(output),
      clock_(clock),
      label_(std::move(label)),
      total_(total),
      started_(clock.Steady()),
      drawn_(started_ - std::chrono::seconds(1)) {}

Progress::~Progress() { output_.Progress(""); }

void Progress::Update(Bytes done, std::string_view current) {
  const auto now = clock_.Steady();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  output_.Progress(ProgressText(label_, done, total_, now - started_, current));
}

}  // namespace slipway
