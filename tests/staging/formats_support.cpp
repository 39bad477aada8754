#include "tests/staging/formats_support.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {

std::string MakeTfrecords(const std::filesystem::path& path, const std::vector<std::string>& payloads) {
  TfrecordWriter writer(path);
  for (const auto& payload : payloads) writer.Write(payload);
  writer.Close();
  return ReadFile(path);
}

std::string ImageExample(std::size_t size, int label) {
  return ExampleBuilder()
      .AddBytes("image", std::string(size, static_cast<char>(label)))
      .AddInt("label", label)
      .Finish();
}

std::string IdxBytes(const std::vector<unsigned>& shape, std::string_view values) {
  std::string file{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (const auto extent : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<char>(extent >> shift));
  }
  return file.append(values);
}

IdxPair MakeIdxPair(const std::filesystem::path& directory, std::size_t count) {
  std::string pixels;
  std::string labels;
  for (std::size_t i = 0; i < count * 6; ++i) pixels.push_back(static_cast<char>(i));
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<char>(i % 10));
  const auto records = static_cast<unsigned>(count);
  WriteFile(directory / "images-idx3", IdxBytes({records, 2, 3}, pixels));
  WriteFile(directory / "labels-idx1", IdxBytes({records}, labels));
  return {directory / "images-idx3", directory / "labels-idx1"};
}

Error ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "expected an Error";
  return {ErrorKind::kInternal, "no error"};
}

}  // namespace slipway::staging
