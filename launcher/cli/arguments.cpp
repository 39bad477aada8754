#include "launcher/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/install.h"
#include "core/lines.h"
#include "core/units.h"
#include "launcher/cli/choices.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"
#include "launcher/spec/spec.h"
#include "staging/formats/compression.h"

namespace slipway::launcher {
namespace {

void AddPrefixOption(CLI::App* command, LinePrefix& prefix) {
  command->add_flag_callback(
      "--no-prefix", [&prefix] { prefix = LinePrefix::kNone; }, "Leave out the [rank] or [step] in front of each line");
}

void AddOverrides(CLI::App* command, std::vector<std::string>& overrides) {
  command
      ->add_option("--set", overrides,
                   "KEY=VALUE: changes one field by its dotted path; VALUE is YAML; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
}

void AddForce(CLI::App* command, WorkflowOptions& options) {
  command
      ->add_option("--force", options.forced, "Of a workflow: run this step although it has a result; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
}

Seconds DurationIn(const std::string& option, const std::string& text) {
  if (const auto duration = ParseDuration(text)) return *duration;
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a duration", option, text),
              "write it like 90s, 20m or 1h30m");
}

void AddSubmitFor(CLI::App* command, Seconds& time) {
  command
      ->add_option_function<std::string>(
          "--submit-for", [&time](const std::string& text) { time = DurationIn("--submit-for", text); },
          "Of a workflow: how long to try while Slurm takes no more jobs (10m)")
      ->type_name("TIME");
}

void DescribeSpecCommands(CLI::App& app, Arguments& arguments) {
  auto* run = AddCommand(app, "run", "Carry an experiment out, to the end, in the foreground",
                         "  slipway run configs/fashion.yaml\n"
                         "  slipway run exp.yaml --set train.args.epochs=1 --set launch.ranks_per_node=4");
  AddSpecOptions(run, arguments);
  AddForce(run, arguments.workflow);
  AddPrefixOption(run, arguments.run.prefix);
  SetAction(run, arguments, [&](Session& session) {
    arguments.run.selection = SelectionOf(arguments);
    arguments.run.workflow = arguments.workflow;
    return Run(arguments.run, session);
  });

  auto* submit = AddCommand(app, "submit", "Start an experiment that outlives this terminal; prints the run's id",
                            "  slipway submit exp.yaml\n  slipway wait \"$(slipway submit -q exp.yaml)\"");
  AddSpecOptions(submit, arguments);
  AddForce(submit, arguments.workflow);
  AddSubmitFor(submit, arguments.workflow.submit_for);
  SetAction(submit, arguments,
            [&](Session& session) { return Submit(SelectionOf(arguments), arguments.workflow, session); });

  auto* plan = AddCommand(app, "plan", "Show what a run would stage, start and store; starts nothing",
                          "  slipway plan exp.yaml\n  slipway plan exp.yaml --json");
  AddSpecOptions(plan, arguments);
  AddForce(plan, arguments.workflow);
  plan->add_option("--svg", arguments.workflow.svg, "Of a workflow: also write its picture into this file");
  SetAction(plan, arguments,
            [&](Session& session) { return ShowPlan(SelectionOf(arguments), arguments.workflow, session); });

  auto* validate = AddCommand(app, "validate", "Check an experiment: every error of the file in one go",
                              "  slipway validate exp.yaml\n  slipway validate exp.yaml --json");
  AddSpecOptions(validate, arguments);
  SetAction(validate, arguments, [&](Session& session) { return Validate(SelectionOf(arguments), session); });
}

void DescribeFinding(CLI::App& app, Arguments& arguments) {
  auto* ls = AddCommand(app, "ls", "List the runs, the newest last",
                        "  slipway ls\n  slipway ls --tag paper --state failed,lost --since 30d\n"
                        "  slipway ls --name 'fashion*' --sort best --limit 5\n  slipway ls --json | jq .runs");
  auto& options = arguments.ls;
  ls->add_option("-n,--limit", options.limit, "Show at most so many: the last ones")->check(kPositive);
  ls->add_option("--tag", options.tags, "Only runs with this tag; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  ls->add_option("--state", options.states, "Only runs in one of these states: running,failed");
  ls->add_option("--name", options.name, "Only runs whose name or id fits a pattern with * ? [ ], or holds this text");
  ls->add_option("--since", options.since, "Only runs created since then: 12h, 30d or 2026-11-25")->check(kNotEmpty);
  ls->add_option("--sort", options.sort, "Order: created, started, name, state or best (the best last)")
      ->capture_default_str();
  ls->add_option("--metric", options.metric, "With --sort best: what single runs are ordered by (default: loss)");
  ls->add_flag("--reverse", options.reverse, "Print the list from its end");
  SetAction(ls, arguments, [&](Session& session) { return Ls(arguments.ls, session); });

  auto* tag = AddCommand(app, "tag", "Show or change the tags and the description of a run",
                         "  slipway tag last +paper -draft\n  slipway tag fash --description 'Baseline of the paper'");
  tag->add_option("run", arguments.tag.run, "Run: full id, unique prefix, 'last', or the path of its folder")
      ->required();
  tag->add_option("tags", arguments.tag.added, "TAG or +TAG adds it");
  tag->add_option("--remove", arguments.tag.removed, "Remove this tag; -TAG is short for it; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  tag->add_option("--description", arguments.tag.description, "What the run is for; '' removes it");
  SetAction(tag, arguments, [&](Session& session) { return Tag(arguments.tag, session); });
}

void DescribeRunStatus(CLI::App& app, Arguments& arguments) {
  auto* status =
      AddCommand(app, "status", "Show a run; exits with its outcome", "  slipway status\n  slipway status fash");
  AddRunSelector(status, arguments.status.run);
  SetAction(status, arguments, [&](Session& session) { return Status(arguments.status, session); });

  auto* wait = AddCommand(app, "wait", "Wait for the end of a run; exits with its outcome",
                          "  slipway wait last --timeout 2h   # exit status 75 when it takes longer");
  AddRunSelector(wait, arguments.wait.run);
  wait->add_option("--timeout", arguments.wait_timeout, "Give up after this time, e.g. 30s, 2h")->check(kNotEmpty);
  SetAction(wait, arguments, [&](Session& session) {
    if (!arguments.wait_timeout.empty()) arguments.wait.timeout = DurationIn("--timeout", arguments.wait_timeout);
    return Wait(arguments.wait, session);
  });

  auto* logs = AddCommand(app, "logs", "Print what the ranks of a run wrote, or the steps of a workflow",
                          "  slipway logs -f\n  slipway logs last --rank 1 --no-prefix\n  slipway logs last --trial 3\n"
                          "  slipway logs -f last/prepare");
  AddRunSelector(logs, arguments.logs.run);
  logs->add_flag_callback(
      "-f,--follow", [&] { arguments.logs.follow = Follow::kYes; }, "Go on until the run ends");
  logs->add_option("--rank", arguments.logs.rank, "Only this rank")->check(kNotNegative);
  logs->add_option("--trial", arguments.logs.trial, "Of this trial of an ensemble")->check(kNotNegative);
  logs->add_option("--attempt", arguments.logs.attempt, "Of this attempt (default: the last)")->check(kPositive);
  AddPrefixOption(logs, arguments.logs.prefix);
  SetAction(logs, arguments, [&](Session& session) { return Logs(arguments.logs, session); });
}

void DescribeRunChanges(CLI::App& app, Arguments& arguments) {
  auto* cancel = AddCommand(app, "cancel", "End a run", "  slipway cancel last");
  AddRunSelector(cancel, arguments.cancel.run);
  SetAction(cancel, arguments, [&](Session& session) { return Cancel(arguments.cancel, session); });

  auto* resume =
      AddCommand(app, "resume", "Continue a run that was cancelled, failed or lost, or whose spec changes",
                 "  slipway resume last\n  slipway resume last --set ensemble.trials=64 --set launch.time_limit=2h");
  AddRunSelector(resume, arguments.resume.run);
  AddOverrides(resume, arguments.resume.overrides);
  AddPrefixOption(resume, arguments.resume.prefix);
  AddSubmitFor(resume, arguments.resume.submit_for);
  resume->add_flag("--trust", arguments.resume.trust, "Also run the command of a run folder that others can write to");
  SetAction(resume, arguments, [&](Session& session) { return Resume(arguments.resume, session); });
}

/// What other processes of Slipway start.
void DescribeInnerCommands(CLI::App& app, Arguments& arguments) {
  auto* manage = app.add_subcommand("manage", "Carry out a prepared run (started by submit)")->group("");
  manage->fallthrough();
  manage->add_option("folder", arguments.manage.folder)->required();
  SetAction(manage, arguments, [&](Session& session) { return Manage(arguments.manage, session); });

  auto* member =
      app.add_subcommand("stage-member", "Stage on this node for a run on several (started by its manager)")->group("");
  member->fallthrough();
  member->add_option("folder", arguments.stage_member.folder)->required();
  member->add_option("--node", arguments.stage_member.node)->required();
  member->add_option("--key", arguments.stage_member.key)->required();
  member->add_option("--channel-path", arguments.stage_member.channel_path)->required();
  SetAction(member, arguments, [&](Session&) { return RunStagingMember(arguments.stage_member); });
}

void DescribeDataMake(CLI::App& data, Arguments& arguments) {
  auto& options = arguments.data_make;
  auto* make = AddCommand(data, "make", "Make training data from a seed: hepcnn, cosmoflow or imagenet-like",
                          "  slipway data make hepcnn data/hepcnn\n"
                          "  slipway data make hepcnn --size 224 --train 20000 --test 4000 --shards 16 data/hepcnn224\n"
                          "  slipway data make cosmoflow --size 64 data/cosmoflow\n"
                          "  slipway data make imagenet-like --classes 40 --seed 7 data/pictures");
  make->add_option("kind", options.kind, "hepcnn, cosmoflow or imagenet-like")
      ->required()
      ->check(OneOf({"hepcnn", "cosmoflow", "imagenet-like"}));
  make->add_option("directory", options.directory, "Where train-* and test-* files will lie")->required();
  make->add_option("--train", options.train, "Training records")->check(kPositive)->capture_default_str();
  make->add_option("--test", options.test, "Test records")->check(kNotNegative)->capture_default_str();
  make->add_option("--size", options.size, "Pixels or cells of a side (hepcnn 64, cosmoflow 32, imagenet-like 96)")
      ->check(kPositive);
  make->add_option("--classes", options.classes, "imagenet-like: how many figures, 2 to 40 (10)");
  make->add_option("--box", options.box, "cosmoflow: side of the cube in Mpc/h (256)");
  make->add_option("--shards", options.shards, "Files of each set")->check(kPositive)->capture_default_str();
  make->add_option("--seed", options.seed, "Other data of the same kind")->check(kNotNegative)->capture_default_str();
  make->add_option("--format", options.format, "tfrecord or hdf5 (hepcnn hdf5, others tfrecord)")
      ->check(OneOf({"tfrecord", "hdf5"}));
  SetAction(make, arguments, [&](Session& session) { return DataMake(options, session.output); });
}

/// The commands that make new files of old ones.
void DescribeDataMakers(CLI::App& data, Arguments& arguments) {
  auto* convert = AddCommand(data, "convert", "Make TFRecord files, an HDF5 file or WebDataset shards from other data",
                             "  slipway data convert --images train-images-idx3-ubyte.gz \\\n"
                             "    --labels train-labels-idx1-ubyte.gz --to tfrecord --shards 4 data/fashion/train\n"
                             "  slipway data convert --from image.npy --from label.npy --to hdf5 data/train.h5\n"
                             "  slipway data convert --from photos --to tfrecord --shards 8 data/photos/train\n"
                             "  slipway data convert --from data/train --to webdataset --shards 8 shards/train\n"
                             "  slipway data convert --from data/test.h5 --to tfrecord --compress gzip data/test");
  convert
      ->add_option("--from", arguments.data_convert.sources,
                   "A .npy or .npz file, a folder with a folder of images for each class (JPEG, PNG, GIF, BMP, WebP), "
                   "WebDataset, TFRecord or HDF5 files by their folder, prefix or pattern; may be given several times")
      ->allow_extra_args(false);
  convert->add_option("--images", arguments.data_convert.images, "idx3 file, may be gzip-compressed");
  convert->add_option("--labels", arguments.data_convert.labels, "idx1 file, may be gzip-compressed");
  convert->add_option("--to", arguments.data_convert.to, "tfrecord, hdf5 or webdataset")
      ->required()
      ->check(OneOf({"tfrecord", "hdf5", "webdataset"}));
  convert->add_option("--shards", arguments.data_convert.shards, "Number of TFRecord files or WebDataset shards")
      ->check(kPositive)
      ->capture_default_str();
  convert->add_option("--compress", arguments.data_convert.compression, "Of TFRecord files: none, gzip or zlib")
      ->check(OneOf(AllWords<staging::Compression>()))
      ->capture_default_str();
  convert->add_option("destination", arguments.data_convert.destination, "Prefix of the shards, or the HDF5 file")
      ->required();
  SetAction(convert, arguments, [&](Session& session) { return DataConvert(arguments.data_convert, session.output); });

  auto* reshard = AddCommand(data, "reshard", "Cut TFRecord, WebDataset or NumPy files into another number of files",
                             "  slipway data reshard data/fashion --shards 16 data/fashion16/train");
  reshard
      ->add_option(
          "source", arguments.data_reshard.source,
          "A TFRecord file, tar shard or NumPy file, or the folder, prefix or pattern of a dataset; images become "
          "tar shards")
      ->required();
  reshard->add_option("--shards", arguments.data_reshard.shards, "Number of files")->required()->check(kPositive);
  reshard->add_option("destination", arguments.data_reshard.destination, "Prefix of the new files")->required();
  SetAction(reshard, arguments, [&](Session& session) { return DataReshard(arguments.data_reshard, session.output); });
}

void DescribeDataCommands(CLI::App& app, Arguments& arguments) {
  auto* data = AddCommand(app, "data", "Look at, check, convert and make training data",
                          "  slipway data info data/fashion\n  slipway data verify data/fashion/*.tfrecord");
  data->require_subcommand(1);

  auto* info = AddCommand(*data, "info", "Format, size, records and features", "  slipway data info data/fashion");
  info->add_option("path", arguments.data_info.paths, "Files or folders")->required();
  SetAction(info, arguments, [&](Session& session) { return DataInfo(arguments.data_info, session.output); });

  auto* verify = AddCommand(*data, "verify", "Check every record; exit status 1 when one is damaged",
                            "  slipway data verify data/fashion");
  verify->add_option("path", arguments.data_verify.paths, "Files or folders")->required();
  SetAction(verify, arguments, [&](Session& session) { return DataVerify(arguments.data_verify, session.output); });

  auto* stats =
      AddCommand(*data, "stats", "Smallest, largest, mean and spread of every field, and how often each class",
                 "  slipway data stats data/fashion");
  stats->add_option("path", arguments.data_stats.path, "A file, or the folder of a dataset")->required();
  SetAction(stats, arguments, [&](Session& session) { return DataStats(arguments.data_stats, session.output); });

  auto* index = AddCommand(*data, "index", "Where the records of TFRecord files and WebDataset shards begin",
                           "  slipway data index data/fashion\n  slipway data index --write data/fashion");
  index->add_option("path", arguments.data_index.path, "A TFRecord file or tar shard, or the folder of a dataset")
      ->required();
  index->add_flag("--write", arguments.data_index.write, "Write records.index into the folder");
  SetAction(index, arguments, [&](Session& session) { return DataIndex(arguments.data_index, session.output); });

  DescribeDataMakers(*data, arguments);
  DescribeDataMake(*data, arguments);
}

std::vector<CommandWords> CommandsOf(const CLI::App& app, const std::string& parent = {}) {
  std::vector<CommandWords> commands;
  for (const auto* command : app.get_subcommands(IsForUsers)) {
    CommandWords entry;
    entry.name = parent.empty() ? command->get_name() : parent + " " + command->get_name();
    for (const auto* option : command->get_options()) {
      for (const auto& name : option->get_lnames()) entry.options.push_back("--" + name);
    }
    const auto inner = CommandsOf(*command, entry.name);
    commands.push_back(std::move(entry));
    commands.insert(commands.end(), inner.begin(), inner.end());
  }
  return commands;
}

constexpr std::string_view kExamples = "Examples:\n";

/// CLI11 writes them as "TEXT:{local,slurm}" or "UINT:POSITIVE".
ManualOption ManualOptionOf(const CLI::Option& option) {
  const bool is_word = option.get_positional();
  ManualOption entry;
  entry.names = option.get_name(is_word, !is_word);
  if (!is_word && option.get_items_expected_max() > 0) {
    const auto type = option.get_type_name();
    const auto choices = type.find('{');
    entry.value = choices == std::string::npos ? type.substr(0, type.find(':')) : type.substr(choices);
  }
  entry.what = option.get_description();
  entry.usual = option.get_default_str();
  entry.required = option.get_required();
  return entry;
}

ManualCommand ManualCommandOf(const CLI::App& app, const std::string& name) {
  ManualCommand entry;
  entry.name = name;
  entry.what = app.get_description();
  if (entry.what.ends_with('.')) entry.what.pop_back();
  entry.has_commands = app.get_require_subcommand_min() > 0;
  for (const auto* option : app.get_options()) {
    if (!name.empty() && option == app.get_help_ptr()) continue;  // it is the program's
    if (option->get_group().empty()) continue;                    // not for users
    auto& list = option->get_positional() ? entry.words : entry.options;
    list.push_back(ManualOptionOf(*option));
  }
  const auto footer = app.get_footer();
  const auto at = footer.find(kExamples);
  if (at == std::string::npos) return entry;
  entry.examples = footer.substr(at + kExamples.size());
  return entry;
}

std::vector<ManualCommand> ManualOf(const CLI::App& app, const std::string& name = {}) {
  std::vector<ManualCommand> commands{ManualCommandOf(app, name)};
  for (const auto* command : app.get_subcommands(IsForUsers)) {
    const auto inner = ManualOf(*command, name.empty() ? command->get_name() : name + " " + command->get_name());
    commands.insert(commands.end(), inner.begin(), inner.end());
  }
  return commands;
}

/// `bench` lists the benchmarks; `bench NAME --help` is the benchmark's own.
void DescribeBench(CLI::App& app, Arguments& arguments) {
  auto* bench = AddCommand(app, "bench", "Measure this installation on this machine",
                           "  slipway bench allreduce           # gradient exchange, beside MPI_Allreduce\n"
                           "  slipway bench staging --help      # options of one benchmark");
  bench->footer([] {
    std::string text = "Benchmarks of this installation, each with its own --help:\n";
    const auto names = Benchmarks();
    for (const auto& name : names) text += "  slipway bench " + name + "\n";
    if (names.empty()) text += "  none; build them with: " + BuildTheRest() + "\n";
    return text;
  });
  bench->set_help_flag();
  bench->add_flag("-h,--help", arguments.bench.help, "Print this help message and exit; after NAME: the benchmark's");
  bench->add_option("name", arguments.bench.name, "Which benchmark; what follows is for the benchmark");
  bench->prefix_command();
  bench->fallthrough(false);  // or the program would look at the benchmark's options, and refuse them
  bench->callback([&arguments, bench] {
    if (arguments.bench.name.empty() && arguments.bench.help) throw CLI::CallForHelp();
    if (arguments.bench.name.empty()) throw CLI::RequiredError("name");
    arguments.bench.arguments = bench->remaining();
    arguments.command = [&](Session& session) { return Bench(arguments.bench, session); };
  });
}

void DescribeOtherCommands(CLI::App& app, Arguments& arguments) {
  auto* schema = AddCommand(app, "schema", "Print the JSON Schema of the spec, for editors",
                            "  slipway schema > slipway.schema.json\n  slipway schema --markdown\n"
                            "  slipway schema --workflow > slipway-workflow.schema.json");
  auto* markdown = schema->add_flag("--markdown", arguments.schema.markdown, "Print the reference page instead");
  schema->add_flag("--workflow", arguments.schema.workflow, "Of workflow files")->excludes(markdown);
  SetAction(schema, arguments, [&](Session& session) { return Schema(arguments.schema, session); });

  auto* completion = AddCommand(app, "completion", "Print a completion script for a shell",
                                "  source <(slipway completion bash)\n  slipway completion zsh > _slipway");
  completion->add_option("shell", arguments.completion.shell, "bash or zsh")->required()->check(OneOf({"bash", "zsh"}));
  completion->callback([&] {
    arguments.completion.commands = CommandsOf(app);
    for (const auto& name : Benchmarks()) arguments.completion.commands.push_back({"bench " + name, {"--help"}});
    arguments.command = [&](Session& session) { return Completion(arguments.completion, session); };
  });

  auto* manual = AddCommand(app, "manual", "Print the reference of all commands, or write man pages",
                            "  slipway manual > cli.md\n  slipway manual --man ~/.local/share/man/man1");
  auto* man = manual->add_option("--man", arguments.manual.man, "Write a man page for each command into this folder");
  manual->add_flag("--environment", arguments.manual.environment, "Print the page of the environment variables instead")
      ->excludes(man);
  manual->callback([&] {
    arguments.manual.commands = ManualOf(app);
    arguments.command = [&](Session& session) { return Manual(arguments.manual, session); };
  });

  DescribeBench(app, arguments);
}

}  // namespace

CLI::App* AddCommand(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples) {
  auto* command = parent.add_subcommand(name, what);
  command->fallthrough();
  command->footer("Examples:\n" + examples);
  return command;
}

void SetAction(CLI::App* command, Arguments& arguments, std::function<int(Session&)> action) {
  command->callback([&arguments, action = std::move(action)] { arguments.command = action; });
}

void AddSpecOptions(CLI::App* command, Arguments& arguments) {
  command->add_option("spec", arguments.selection.spec, "The experiment or workflow, a YAML file")->required();
  AddOverrides(command, arguments.selection.overrides);
  command->add_option("--engine", arguments.engine, "Where to run: local, slurm or auto")
      ->check(OneOf(AllWords<EngineChoice>()));
}

SpecSelection SelectionOf(const Arguments& arguments) {
  auto selection = arguments.selection;
  // `--engine X` is short for `--set launch.engine=X`.
  if (!arguments.engine.empty()) selection.overrides.push_back("launch.engine=" + arguments.engine);
  return selection;
}

namespace {

/// Nothing: it is no whole number of 0 or more.
std::optional<std::int64_t> TrialNumberIn(const std::string& word) {
  const auto number = ParseNumber<std::int64_t>(word);
  return number >= 0 ? number : std::nullopt;
}

}  // namespace

bool IsForUsers(const CLI::App* command) { return !command->get_group().empty(); }

void AddRunSelector(CLI::App* command, std::string& run) {
  command->add_option("run", run, "Run: full id, unique prefix, 'last', or the path of its folder")
      ->capture_default_str();
}

std::int64_t TakeTrial(TrialOfRun& words) {
  if (!TrialNumberIn(words.trial)) std::swap(words.trial, words.run);
  if (const auto number = TrialNumberIn(words.trial)) return *number;
  throw Error(ErrorKind::kUsage, fmt::format("neither '{}' nor '{}' is the number of a trial", words.run, words.trial),
              "write for example: slipway trials show 7 last");
}

void DescribeCommands(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.add_flag_callback(
      "--json", [&] { arguments.mode = OutputMode::kJson; }, "Print one JSON document (JSON lines while following)");
  app.add_flag_callback(
      "-q,--quiet", [&] { arguments.mode = OutputMode::kQuiet; }, "Print only the essential word or id");
  app.add_option("--runs-dir", arguments.runs_directory, "Where run folders are (default: $SLIPWAY_RUNS, else ./runs)");
  app.add_option("--on", arguments.on,
                 "Carry the command out on another machine, by ssh: a name from remotes in your settings, or HOST");
  DescribeInit(app, arguments);
  DescribeSpecCommands(app, arguments);
  DescribeFinding(app, arguments);
  DescribeRunStatus(app, arguments);
  DescribeRunChanges(app, arguments);
  DescribeInnerCommands(app, arguments);
  DescribeDiagnosis(app, arguments);
  DescribeRecords(app, arguments);
  DescribeWorkflowCommands(app, arguments);
  DescribeTrialsCommands(app, arguments);
  DescribeDataCommands(app, arguments);
  DescribeStageCommands(app, arguments);
  DescribeOtherCommands(app, arguments);
  RefuseEmptyNumbers(app);
}

}  // namespace slipway::launcher
