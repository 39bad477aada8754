#include "tests/staging/formats_support.h"

#include <gtest/gtest.h>

#include <random>

#include "core/crc32c.h"
#include "core/files.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {

std::string MakeTfrecords(const std::filesystem::path& path, const std::vector<std::string>& payloads) {
  TfrecordWriter writer(path);
  for (const auto& payload : payloads) writer.Write(payload);
  writer.Close();
  return ReadFile(path);
}

std::string TfrecordText(const std::vector<std::string>& payloads) {
  std::string text;
  for (const auto& payload : payloads) {
    text += TextOf(MakeTfrecordHeader(payload.size())) + payload + TextOf(MakeTfrecordFooter(Crc32c(payload)));
  }
  return text;
}

std::string Deflate(Compression compression, std::string_view content) {
  std::string deflated;
  const auto sink = [&deflated](std::string_view bytes) { deflated += bytes; };
  Deflater deflater(compression);
  deflater.Update(content, sink);
  deflater.Finish(sink);
  return deflated;
}

std::string NoiseOf(std::size_t size) {
  std::mt19937 random(1);
  std::string bytes(size, '\0');
  for (auto& byte : bytes) byte = static_cast<char>(random());
  return bytes;
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
