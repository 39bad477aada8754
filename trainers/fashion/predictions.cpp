#include "trainers/fashion/predictions.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace fashion {
namespace {

namespace fs = std::filesystem;

void WriteWhole(const fs::path& path, const std::string& content) {
  const auto temporary = fs::path(path) += ".tmp";
  std::ofstream stream(temporary, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) throw std::runtime_error(fmt::format("cannot write '{}'", temporary.string()));
  fs::rename(temporary, path);
}

/// numpy.lib.format, version 1: magic, version, length of the header, a Python dict that fills up 64 bytes.
template <class Number>
std::string NumpyText(const std::string& descr, const std::string& shape, const std::vector<Number>& values) {
  auto dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  dict.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict + '\n' +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
}

/// FNV-1a, 64 bits, over the bytes of each number, the lowest first.
std::string OrderOf(std::span<const std::uint64_t> records) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto record : records) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ (record >> shift & 0xff)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

void WriteWithOrder(const fs::path& folder, const std::string& name, const std::string& array,
                    std::span<const std::uint64_t> records) {
  const nlohmann::ordered_json document{
      {"schema", "slipway." + name + "/1"}, {"records", records.size()}, {"order", OrderOf(records)}};
  WriteWhole(folder / (name + ".npy"), array);
  WriteWhole(folder / (name + ".json"), document.dump() + "\n");
}

}  // namespace

void WritePredictions(const fs::path& folder, const Images& images, std::span<const std::uint64_t> records,
                      std::span<const double> probabilities) {
  const std::vector<float> outputs(probabilities.begin(), probabilities.end());
  std::vector<std::int64_t> labels;
  for (const auto record : records) labels.push_back(images.label(record));
  const auto shape = fmt::format("({}, {})", records.size(), kClasses);
  WriteWithOrder(folder, "targets", NumpyText("<i8", fmt::format("({},)", records.size()), labels), records);
  WriteWithOrder(folder, "predictions", NumpyText("<f4", shape, outputs), records);
}

}  // namespace fashion
