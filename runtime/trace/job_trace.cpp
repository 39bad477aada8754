#include "runtime/trace/job_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

/// One rank's events, without the brackets around them.
std::string EventsOf(const std::vector<Span>& spans, int rank) {
  static constexpr std::array kNames = {"program", "exchange", "input", "copies", "GPU"};
  std::string text =
      fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":"rank {}"}}}})", rank, rank);
  for (std::size_t row = 0; row < kNames.size(); ++row) {
    const auto thread = static_cast<SpanThread>(row);
    if (thread >= SpanThread::kCopies && std::ranges::find(spans, thread, &Span::thread) == spans.end()) continue;
    text += fmt::format(
        ",\n"
        R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
        rank, row, kNames[row]);
  }
  for (const auto& span : spans) {
    text += fmt::format(
        ",\n"
        R"({{"name":"{}","cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{"step":{}{}}}}})",
        span.name, span.category, span.start_us, span.duration_us, rank, static_cast<int>(span.thread), span.step,
        span.bytes > 0 ? fmt::format(R"(,"bytes":{})", span.bytes) : "");
  }
  return text;
}

}  // namespace

void WriteCommunicationReport(const std::filesystem::path& file, Json facts, Communicator& communicator) {
  facts["schema"] = "slipway.comm/1";
  OnFirstRank(communicator, [&] {
    WriteFileAtomically(file, facts.dump(2) + "\n");
    return std::string();
  });
}

void WriteChromeTrace(const std::filesystem::path& file, const std::vector<Span>& spans, Communicator& communicator) {
  const auto own = EventsOf(spans, communicator.rank());
  std::string all = "{\"traceEvents\":[\n";
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto text = communicator.BroadcastText(own, rank);
    if (communicator.rank() == 0) all += (rank > 0 ? ",\n" : "") + text;
  }
  OnFirstRank(communicator, [&] {
    WriteFileAtomically(file, all + "\n]}\n");
    return std::string();
  });
}

}  // namespace slipway::runtime
