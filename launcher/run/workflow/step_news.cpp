#include "launcher/run/workflow/step_news.h"

#include <fmt/format.h>

#include "core/documents.h"
#include "core/log.h"
#include "launcher/notify/notifier.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/workflow/workflow_document.h"

namespace slipway::launcher {

void SendNews(const RunFolder& folder, const Workflow& workflow, const StepsNews& news, EventLoop& loop,
              const Interrupt& interrupt, Output& output) {
  if (news.empty() || workflow.notify.empty()) return;
  Notifier notifier(folder, {workflow.name, workflow.directory, workflow.notify}, loop, output);
  for (const auto& [step, reason] : news.failed) notifier.StepFailed(step, reason);
  if (news.ended) notifier.RunEnded(*news.ended);
  notifier.Finish(interrupt);
}

void SendNewsFromHere(const RunFolder& folder, const StepsNews& news) try {
  if (news.empty()) return;
  const auto file = folder.path() / kSubmittedSteps;
  const auto workflow = ReadWorkflowDocument(ReadDocument(file), fmt::format("'{}'", file.string()));
  EventLoop loop;
  const Interrupt interrupt(loop);
  const auto output = MakeConsoleOutput(OutputMode::kQuiet);
  SendNews(folder, workflow, news, loop, interrupt, *output);
} catch (const std::exception& error) {
  log::Info("no notification of run {} is sent: {}", folder.id(), error.what());
}

}  // namespace slipway::launcher
