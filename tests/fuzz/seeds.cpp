#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/ranks/nodes/node_frame.h"
#include "runtime/watch/rank_status.h"
#include "staging/dataset/journal.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/example.h"
#include "staging/network/frame.h"
#include "staging/network/group_state.h"
#include "staging/network/handshake.h"
#include "staging/network/plan_difference.h"
#include "tests/fuzz/targets.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/listing_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/staging/tar_support.h"

namespace slipway::fuzz {
namespace {

using staging::Compression;

std::vector<std::string> TfrecordSeeds() {
  const auto records = staging::TfrecordText({"one", "", staging::NoiseOf(300), std::string(2000, 'x')});
  std::vector<std::string> seeds = {"", records, staging::TfrecordText({std::string(0x8b1f, 'x')})};
  for (const auto kind : {Compression::kGzip, Compression::kZlib}) {
    seeds.push_back(staging::Deflate(kind, records));
    seeds.push_back(staging::Deflate(kind, ""));
  }
  seeds.push_back(staging::Deflate(Compression::kGzip, records.substr(0, 30)) +
                  staging::Deflate(Compression::kGzip, records.substr(30)));
  return seeds;
}

std::vector<std::string> WebdatasetSeeds() {
  const auto shard = staging::TarText({{"1.jpg", "first"}, {"1.cls", "3"}, {"2.jpg", "other"}, {"2.cls", "4"}});
  const auto array = staging::TarText({{"1.npy", staging::NpyText("<u2", "(2,)", "abcd")}});
  const auto long_name = staging::TarMemberText("x", std::string(200, 'a') + ".jpg", 'L');
  const auto pax = staging::TarMemberText("x", "14 path=1.jpg\n", 'x');
  return {"",
          staging::TarEnd(),
          shard,
          array,
          long_name + shard,
          pax + shard,
          staging::TarMemberText("1.jpg", "", '1', "x") + shard,
          staging::TarMemberText("1.jpg", "", 'S') + shard};
}

std::vector<std::string> RepairedSeeds() {
  const std::string payloads = "\x03one" + std::string(1, '\0') + "\xff" + staging::NoiseOf(300);
  std::vector<std::string> seeds;
  for (char kind = 0; kind < 3; ++kind) {
    seeds.push_back(std::string{kind, 0, 0, 0} + payloads);
    seeds.push_back(std::string{kind, 20, 0, 1} + payloads);
  }
  return seeds;
}

std::vector<std::string> IndexSeeds() {
  const std::vector<staging::RecordIndex> files = {{{0, 100, 20'000}, 3'000'000}, {}, {{0}, 16}};
  const auto whole = staging::EncodeRecordIndices(files);
  return {whole, whole.substr(0, whole.size() - 4), staging::EncodeRecordIndices({})};
}

std::vector<std::string> ExampleSeeds() {
  const std::vector<float> floats = {0.5F, 1.5F};
  const std::vector<std::int64_t> ints = {1, -1, 1'000'000'000'000};
  const std::vector<std::string_view> words = {"a", "", "ccc"};
  return {staging::ImageExample(20, 3), "",
          staging::ExampleBuilder()
              .AddFloats("floats", floats)
              .AddInts("ints", ints)
              .AddBytesList("words", words)
              .AddInt("ints", 7)
              .Finish()};
}

std::vector<std::string> HeaderSeeds() {
  const auto array = staging::NpyText("<i2", "(2, 3)", "abcdefghijkl");
  return {array, staging::PngText(3, 7), staging::JpegText(300, 500),
          std::string("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16) + std::string(80, '\x01')};
}

std::vector<std::string> ArraySeeds() {
  const auto array = staging::NpyText("<i2", "(2, 3)", "abcdefghijkl");
  const auto idx = staging::IdxBytes({2, 2, 3}, "abcdefghijkl");
  return {array,
          staging::NpyText(">f4", "(0, 7)", ""),
          staging::NpyText("<f4", "(2, 1)", std::string(8, '\0')),
          staging::NpyText("<i8", "(2,)", std::string(16, '\1')),
          staging::ZipText({{"a.npy", array}, {"b/c.npy", array}}, true),
          staging::ZipText({{"a.npy", array}}, false),
          idx,
          staging::Deflate(Compression::kGzip, idx),
          staging::IdxBytes({3}, "abc")};
}

std::vector<std::string> NpzSeeds() {
  const auto array = staging::NpyText("<i2", "(2, 3)", "abcdefghijkl");  // 140 bytes: 35 times 4
  const auto other = staging::NpyText("|b1", "(2,)", "\1\1");
  return {array,
          other,
          staging::NpyText("<f4", "()", "abcd"),
          staging::ZipText({{"a.npy", array}, {"b.npy", other}}, false),
          staging::ZipText({{"a.npy", array}, {"b.npy", other}}, true),
          std::string(1, 35) + array + other,
          std::string(1, 35) + array + staging::NpyText(">f8", "(3,)", std::string(24, 'x'))};
}

std::vector<std::string> ImageSeeds() {
  const auto bmp = "BM" + std::string(12, '\0') + std::string("\x28\0\0\0\7\0\0\0\3\0\0\0", 12) + std::string(28, '\0');
  const auto webp = "RIFF" + std::string(4, '\0') + "WEBPVP8L" + std::string(5, '\0') + std::string(8, '\1');
  return {staging::PngText(3, 7) + std::string("IEND\xae\x42\x60\x82"),
          staging::PngText(3, 7),
          staging::JpegText(300, 500),
          std::string("GIF89a\7\0\3\0", 10) + std::string(22, '\0'),
          bmp,
          webp};
}

/// The right places of two samples before their shard, and wrong ones.
std::vector<std::string> WebdatasetIndexSeeds() {
  const auto shard = staging::TarText({{"1.jpg", "first"}, {"1.cls", "3"}, {"2.jpg", "other"}, {"2.cls", "4"}});
  std::vector<std::string> seeds;
  for (const auto* places : {"\0\4\x8", "\0\2\x8", "\0\x8\x8", "\0\4\xff", "\4\0\x8", "\0\3\4"}) {
    seeds.push_back(std::string(places, 3) + shard);
  }
  return seeds;
}

std::vector<std::string> DocumentSeeds() {
  staging::Manifest manifest;
  manifest.name = "train";
  manifest.format = staging::DataFormat::kTfrecord;
  manifest.files = {{"a/b.tfrecord", Bytes{5'000'000}, "/source", 1, 2, {0x01234567, 0x89abcdef}, 9}};
  manifest.index = {{"records.index", Bytes{10}, 1}};
  const staging::Listing listing{staging::DataFormat::kHdf5, {{"a.h5", Bytes{1}, {}}, {"b.h5", Bytes{2}, 3}}};
  std::vector<std::string> seeds = {staging::RenderManifest(manifest), staging::TextOf(listing)};
  const std::vector<staging::JournalEntry> entries = {staging::JournalHead{1, 2}, staging::JournalStart{3, -4},
                                                      staging::JournalBlock{5, 6, 7},
                                                      staging::JournalDone{8, 2, {9, 10}, {0, 20}, 50}};
  for (const auto& entry : entries) {
    auto line = staging::RenderJournalEntry(entry);
    line.pop_back();
    seeds.push_back(line);
    seeds.push_back(line.substr(0, line.rfind(' ')));
  }
  return seeds;
}

std::vector<std::string> NetworkSeeds() {
  const staging::GroupKey key{staging::Digest{1}};
  staging::StagingPlan plan;
  plan.files = {{"/source/a", "a", Bytes{7}}, {"/source/b", "b", Bytes{8}}};
  std::vector<std::string> seeds = {
      staging::ConnectorHandshake(key, {0, 1, 4, {}, {}}).hello(),
      staging::DescribePlan(plan, {}, 0),
      staging::EncodeFailure({1, ErrorKind::kBusy, "message", "next step"}),
      "alpha:7000\n\n10.0.0.2:7001  # second\n[::1]:7002\n",
      staging::FrameSealer(key).Seal({staging::FrameKind::kPlan, 2}, "payload"),
  };
  for (char kind = 0; kind < 9; ++kind) seeds.push_back(std::string{kind, 1, 0, 0, 0, 0x40, 0} + std::string(40, kind));
  return seeds;
}

std::vector<std::string> NodesSeeds() {
  using launcher::NodeFrame;
  launcher::NodeFrameSealer sealer(staging::GroupKey{staging::Digest{1}});
  const auto join = sealer.Seal(NodeFrame::kJoin, 0, TextOf(launcher::NodeFacts{"n17", {0, 1, 12}}));
  runtime::RankStatusRow line;
  line.rank = 3;
  line.step = 5;
  line.asks = line.current = static_cast<std::uint32_t>(runtime::Activity::kGradients) | 1 << 16;
  line.missing[0] = 4;
  std::string("net").copy(line.teams[0].data(), 3);
  std::vector<std::string> seeds = {join + sealer.Seal(NodeFrame::kData, 7, "hello 3 8 4711 n17\n"), "n17 0,1,12",
                                    "n17 own 0,1 CUDA_VISIBLE_DEVICES=0,1 named-gpus",
                                    std::string(reinterpret_cast<const char*>(&line), sizeof line),
                                    ToJson(runtime::RankStatusOf(line, {"n17", 4711})).dump()};
  for (char kind = 0; kind < 13; ++kind) seeds.push_back(std::string{kind, 3, 0, 0, 0, 5, 0} + "door-1");
  return seeds;
}

}  // namespace

std::vector<std::string> SeedsFor(std::string_view target) {
  if (target == "tfrecord") return TfrecordSeeds();
  if (target == "tfrecord-repaired") return RepairedSeeds();
  if (target == "record-index") return IndexSeeds();
  if (target == "example") return ExampleSeeds();
  if (target == "arrays") return ArraySeeds();
  if (target == "npz") return NpzSeeds();
  if (target == "images") return ImageSeeds();
  if (target == "webdataset") return WebdatasetSeeds();
  if (target == "webdataset-index") return WebdatasetIndexSeeds();
  if (target == "documents") return DocumentSeeds();
  if (target == "network") return NetworkSeeds();
  if (target == "nodes") return NodesSeeds();
  return HeaderSeeds();
}

}  // namespace slipway::fuzz
