#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "staging/reader/json_fields.h"
#include "staging/reader/transforms.h"

namespace slipway::staging {

namespace {

std::array<std::uint64_t, 2> ParseSize(JsonFields& fields) {
  const auto size = fields.Counts("size");
  if (size.size() != 2) fields.Refuse("size", "[height, width]");
  return {size[0], size[1]};
}

std::vector<float> ParseFloats(JsonFields& fields, std::string_view key) {
  const auto numbers = fields.Numbers(key);
  return {numbers.begin(), numbers.end()};
}

std::array<double, 2> ParseRange(JsonFields& fields, std::string_view key) {
  const auto range = fields.Numbers(key);
  if (range.size() != 2) fields.Refuse(key, "[least, most]");
  return {range[0], range[1]};
}

Transform ParseDecodeJpeg(JsonFields& fields) {
  DecodeJpeg op;
  if (fields.Has("channels")) op.channels = fields.Count("channels") == 1 ? 1 : 3;
  if (fields.Has("channels") && fields.Count("channels") != static_cast<std::uint64_t>(op.channels)) {
    fields.Refuse("channels", "1 or 3");
  }
  return op;
}

Transform ParseCrop(JsonFields& fields, bool random) {
  Crop op{ParseSize(fields), random, 0};
  if (random && fields.Has("padding")) op.padding = fields.Count("padding");
  return op;
}

Transform ParseFlip(JsonFields& fields) {
  Flip op;
  if (fields.Has("axis")) op.vertical = fields.Word("axis", {"horizontal", "vertical"}) == 1;
  if (fields.Has("probability")) op.probability = fields.Number("probability");
  return op;
}

Transform ParseCast(JsonFields& fields) {
  const auto type = ParseElementType(fields.Text("to"));
  if (!type) fields.Refuse("to", "a type of numbers, such as float32");
  return Cast{*type};
}

Transform ParseNormalise(JsonFields& fields) {
  Normalise op;
  if (fields.Has("mean")) op.mean = ParseFloats(fields, "mean");
  if (fields.Has("std")) op.deviation = ParseFloats(fields, "std");
  if (fields.Has("scale")) op.scale = static_cast<float>(fields.Number("scale"));
  return op;
}

Transform ParseResize(JsonFields& fields) {
  Resize op;
  if (!fields.Has("shorter")) {
    op.size = ParseSize(fields);
    return op;
  }
  op.shorter = fields.Count("shorter");
  if (op.shorter == 0) fields.Refuse("shorter", "a number of pixels");
  return op;
}

Transform ParseRandomResizedCrop(JsonFields& fields) {
  RandomResizedCrop op;
  op.size = ParseSize(fields);
  if (fields.Has("area")) op.area = ParseRange(fields, "area");
  if (fields.Has("ratio")) op.ratio = ParseRange(fields, "ratio");
  return op;
}

Transform ParseTransform(JsonFields& fields) {
  switch (fields.Word("op", {"decode_jpeg", "random_crop", "center_crop", "flip", "cast", "normalise", "resize",
                             "random_resized_crop", "channels_first"})) {
    case 0: return ParseDecodeJpeg(fields);
    case 1: return ParseCrop(fields, true);
    case 2: return ParseCrop(fields, false);
    case 3: return ParseFlip(fields);
    case 4: return ParseCast(fields);
    case 5: return ParseNormalise(fields);
    case 6: return ParseResize(fields);
    case 7: return ParseRandomResizedCrop(fields);
    default: return ChannelsFirst{};
  }
}

}  // namespace

std::vector<Transform> ParseTransforms(const Json& list) {
  if (!list.is_array())
    throw Error(ErrorKind::kUsage, "transforms must be a list of objects",
                R"(write for example "transforms": [{"op": "flip"}])");
  std::vector<Transform> transforms;
  for (const auto& item : list) {
    JsonFields fields(item, fmt::format("transform {}", transforms.size()));
    transforms.push_back(ParseTransform(fields));
    fields.Finish();
  }
  return transforms;
}

}  // namespace slipway::staging
