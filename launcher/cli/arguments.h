/// The options and arguments of all commands.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/output.h"
#include "launcher/cli/commands/bench.h"
#include "launcher/cli/commands/compare.h"
#include "launcher/cli/commands/data.h"
#include "launcher/cli/commands/doctor.h"
#include "launcher/cli/commands/explain.h"
#include "launcher/cli/commands/export.h"
#include "launcher/cli/commands/init.h"
#include "launcher/cli/commands/logs.h"
#include "launcher/cli/commands/ls.h"
#include "launcher/cli/commands/manual.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/cli/commands/report.h"
#include "launcher/cli/commands/reproduce.h"
#include "launcher/cli/commands/run.h"
#include "launcher/cli/commands/runs.h"
#include "launcher/cli/commands/serve.h"
#include "launcher/cli/commands/session.h"
#include "launcher/cli/commands/spec.h"
#include "launcher/cli/commands/stage.h"
#include "launcher/cli/commands/stage_directives.h"
#include "launcher/cli/commands/stage_out.h"
#include "launcher/cli/commands/trials.h"
#include "launcher/cli/commands/trials_export.h"
#include "launcher/cli/commands/trials_import.h"
#include "launcher/cli/commands/trials_importance.h"
#include "launcher/cli/commands/trials_pareto.h"
#include "launcher/cli/commands/trials_request.h"
#include "launcher/cli/commands/trials_select.h"
#include "launcher/cli/commands/trials_serve.h"
#include "launcher/cli/commands/trials_throughput.h"
#include "launcher/cli/commands/usage.h"
#include "launcher/cli/commands/watch.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/cli/commands/workflow_jobs.h"
#include "launcher/cli/describe.h"
#include "launcher/run/data/staging_member.h"

namespace CLI {
class App;
}

namespace slipway::launcher {

/// The options of every command; the parser fills those of the command that was called.
struct Arguments {
  OutputMode mode = OutputMode::kHuman;
  std::filesystem::path runs_directory;
  std::string on;  ///< another machine; empty: this one
  std::function<int(Session&)> command;

  LsOptions ls;
  TagOptions tag;
  DoctorOptions doctor;
  ExplainOptions explain;
  ReportOptions report;
  ServeOptions serve;
  ReproduceOptions reproduce;
  CompareOptions compare;
  UsageOptions usage;
  ExportOptions exported;
  StatusOptions status;
  WatchOptions watch;
  WaitOptions wait;
  std::string wait_timeout;
  CancelOptions cancel;
  LogsOptions logs;
  SpecSelection selection;
  std::string engine;
  RunOptions run;
  WorkflowOptions workflow;
  WhyOptions workflow_why;
  WorkflowGcOptions workflow_gc;
  StepJobOptions workflow_step;
  ResumeOptions resume;
  ManageOptions manage;
  MemberOptions stage_member;
  InitOptions init;
  SchemaOptions schema;
  CompletionOptions completion;
  ManualOptions manual;
  DataInfoOptions data_info;
  DataVerifyOptions data_verify;
  DataConvertOptions data_convert;
  DataMakeOptions data_make;
  DataStatsOptions data_stats;
  DataIndexOptions data_index;
  DataReshardOptions data_reshard;
  std::string trials_run = "last";
  TrialOfRun trial_of_run;
  TrialsLsOptions trials_ls;
  TrialsBestOptions trials_best;
  TrialsShowOptions trials_show;
  TrialsExportOptions trials_export;
  TrialsImportanceOptions trials_importance;
  TrialsParetoOptions trials_pareto;
  TrialsEnqueueOptions trials_enqueue;
  TrialsRetryOptions trials_retry;
  std::vector<std::string> trials_retry_words;
  SelectModelsOptions trials_select;
  TrialsThroughputOptions trials_throughput;
  TrialsImportOptions trials_import;
  TrialsServeOptions trials_serve;
  TrialsAskOptions trials_ask;
  TrialsTellOptions trials_tell;
  StageInOptions stage_in;
  StageKeyOptions stage_key;
  StageLsOptions stage_ls;
  StageVerifyOptions stage_verify;
  StageEvictOptions stage_evict;
  StageGcOptions stage_gc;
  StageOutCommand stage_out;
  StageDirectivesOptions stage_directives;
  BenchOptions bench;
};

/// Describes all commands to `app`; parsing then fills `arguments`.
void DescribeCommands(CLI::App& app, Arguments& arguments);

/// False for internal commands, which no help shows.
bool IsForUsers(const CLI::App* command);

}  // namespace slipway::launcher
