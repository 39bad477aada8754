// `slipway stage in|ls|verify|evict|gc`.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/choices.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

void AddTierOption(CLI::App* command, std::vector<std::string>& tiers, const std::string& what) {
  command->add_option("--tier", tiers, what)->allow_extra_args(false)->take_all();
}

void AddTiersOption(CLI::App* command, std::vector<std::string>& tiers) {
  AddTierOption(command, tiers, "Only this tier: its name, an alias or dir:PATH; may be repeated");
}

void AddDryRun(CLI::App* command, DryRun& dry_run) {
  command->add_flag_callback(
      "--dry-run", [&dry_run] { dry_run = DryRun::kYes; }, "Show what would be done, and do nothing");
}

void DescribeIn(CLI::App& stage, Arguments& arguments) {
  auto& options = arguments.stage_in;
  auto* in =
      AddCommand(stage, "in", "Copy data into the best tier, checked on the way, and keep it there",
                 "  slipway stage in exp.yaml                        # all datasets of the experiment\n"
                 "  slipway stage in exp.yaml --dataset train --dry-run\n"
                 "  slipway stage in 'data/train-*.tfrecord' --name train --tier ram --bandwidth 500MB\n"
                 "  slipway stage in exp.yaml --nodes nodes.txt --node 2 --key group.key   # on each of the nodes");
  in->add_option("source", options.sources, "A spec (*.yaml), or files, directories and patterns")->required();
  in->add_option("--set", options.overrides, "KEY=VALUE: changes one field of the spec; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  in->add_option("--dataset", options.datasets, "Only this dataset of the spec; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  in->add_option("--name", options.name, "Name of the dataset that the paths make (default: data)");
  in->add_option("--format", options.format, "Format of the paths' files (default: the one that all of them have)")
      ->check(OneOf(AllWords<staging::DataFormat>()));
  AddTierOption(in, options.tiers,
                "Where to, instead of what the spec or the site says; the first of several that fits");
  in->add_option("--verify", options.verify,
                 "off, format (while copying) or full (read again, with the checksums inside HDF5)")
      ->check(OneOf(AllWords<Verification>()));
  in->add_option("--bandwidth", options.bandwidth, "Most bytes a second to read from the sources, e.g. 500MB")
      ->check(kNotEmpty);
  in->add_option("--nodes", options.nodes_file,
                 "With other nodes, each byte read once: a file with HOST:PORT of each node, one a line");
  in->add_option("--node", options.node, "This node's place in that list, from 0")->check(kNotNegative);
  in->add_option("--key", options.key_file, "The nodes' common key, made by 'slipway stage key'");
  AddDryRun(in, options.dry_run);
  SetAction(in, arguments, [&](Session& session) { return StageIn(arguments.stage_in, session); });
}

void DescribeKey(CLI::App& stage, Arguments& arguments) {
  auto* key = AddCommand(stage, "key", "Make the key by which nodes that stage together know each other",
                         "  slipway stage key group.key");
  key->add_option("file", arguments.stage_key.file, "The new file, mode 0600")->required();
  SetAction(key, arguments, [&](Session& session) { return StageKey(arguments.stage_key, session); });
}

void DescribeLs(CLI::App& stage, Arguments& arguments) {
  auto* ls = AddCommand(stage, "ls", "List what is staged, who uses it and what is free",
                        "  slipway stage ls\n  slipway stage ls --tier ram --json");
  AddTiersOption(ls, arguments.stage_ls.tiers);
  SetAction(ls, arguments, [&](Session& session) { return StageLs(arguments.stage_ls, session); });
}

void DescribeVerify(CLI::App& stage, Arguments& arguments) {
  auto* verify = AddCommand(stage, "verify", "Read staged data again and compare it with what was copied",
                            "  slipway stage verify                             # everything that is staged\n"
                            "  slipway stage verify train-0123456789abcdef");
  verify->add_option("generation", arguments.stage_verify.generations, "Names or directories (default: all)");
  AddTiersOption(verify, arguments.stage_verify.tiers);
  SetAction(verify, arguments, [&](Session& session) { return StageVerify(arguments.stage_verify, session); });
}

void DescribeEvict(CLI::App& stage, Arguments& arguments) {
  auto& options = arguments.stage_evict;
  auto* evict = AddCommand(stage, "evict", "Remove staged data; exit status 4 when some of it is in use",
                           "  slipway stage evict train-0123456789abcdef\n"
                           "  slipway stage evict --older-than 7d --tier node --dry-run");
  evict->add_option("generation", options.generations, "Names or directories");
  evict->add_flag("--all", options.all, "Everything that is staged");
  evict->add_option("--older-than", options.older_than, "Data unused for this long, e.g. 12h, 7d")->check(kNotEmpty);
  AddTiersOption(evict, options.tiers);
  AddDryRun(evict, options.dry_run);
  SetAction(evict, arguments, [&](Session& session) { return StageEvict(arguments.stage_evict, session); });
}

void DescribeGc(CLI::App& stage, Arguments& arguments) {
  auto& options = arguments.stage_gc;
  auto* gc = AddCommand(stage, "gc", "Remove what interrupted stagings left behind",
                        "  slipway stage gc\n  slipway stage gc --to-free 10GB --tier ram");
  gc->add_option("--to-free", options.to_free,
                 "Also remove unused staged data, oldest first, until this much more is free")
      ->check(kNotEmpty);
  AddTiersOption(gc, options.tiers);
  AddDryRun(gc, options.dry_run);
  SetAction(gc, arguments, [&](Session& session) { return StageGc(arguments.stage_gc, session); });
}

}  // namespace

void DescribeStageCommands(CLI::App& app, Arguments& arguments) {
  auto* stage = AddCommand(app, "stage", "Stage data into storage tiers, and look after what is there",
                           "  slipway stage in exp.yaml\n  slipway stage ls\n  slipway stage gc --to-free 10GB");
  stage->require_subcommand(1);
  DescribeIn(*stage, arguments);
  DescribeKey(*stage, arguments);
  DescribeStageOut(*stage, arguments);
  DescribeLs(*stage, arguments);
  DescribeVerify(*stage, arguments);
  DescribeEvict(*stage, arguments);
  DescribeGc(*stage, arguments);
  DescribeStageDirectives(*stage, arguments);
}

}  // namespace slipway::launcher
