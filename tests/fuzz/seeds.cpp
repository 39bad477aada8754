#include "staging/dataset/record_index.h"
#include "staging/formats/example.h"
#include "tests/fuzz/targets.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"

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
  return {array,
          staging::ZipText({{"a.npy", array}, {"b.npy", array}}, false),
          staging::ZipText({{"a.npy", array}}, true),
          staging::PngText(3, 7),
          staging::JpegText(300, 500),
          std::string("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16) + std::string(80, '\x01')};
}

}  // namespace

std::vector<std::string> SeedsFor(std::string_view target) {
  if (target == "tfrecord") return TfrecordSeeds();
  if (target == "tfrecord-repaired") return RepairedSeeds();
  if (target == "record-index") return IndexSeeds();
  if (target == "example") return ExampleSeeds();
  return HeaderSeeds();
}

}  // namespace slipway::fuzz
