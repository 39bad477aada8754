#include "trainers/common/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

using slipway::client::Session;
using slipway::staging::BatchArray;
using slipway::staging::BatchOptions;
using slipway::staging::BatchReader;
using slipway::staging::DatasetPlace;
using slipway::staging::ElementType;
using slipway::staging::OnCorrupt;
using slipway::staging::RecordOrder;
using slipway::staging::Remainder;

at::ScalarType TypeOf(const BatchArray& array) {
  switch (array.type) {
    case ElementType::kFloat32: return at::kFloat;
    case ElementType::kInt64: return at::kLong;
    default: break;
  }
  throw std::logic_error(fmt::format("the field '{}' is neither float32 nor int64", array.name));
}

/// The first `count` records of an array, in the reader's memory.
at::Tensor TensorOf(const BatchArray& array, std::uint64_t count) {
  std::vector<std::int64_t> shape(array.shape.begin(), array.shape.end());
  shape.at(0) = static_cast<std::int64_t>(count);
  return at::from_blob(array.values.data(), shape, TypeOf(array));
}

/// As the launcher has placed the dataset and the spec wants it read.
BatchOptions Options(const DatasetPlace& place, const Task& task, bool training, const Session& session) {
  auto options = place.defaults;
  options.fields = {task.Input(training), task.Target()};
  options.rank = session.rank();
  options.world = session.size();
  TakeShare(place, options);
  return options;
}

BatchOptions InOrder(const DatasetPlace& place, const Task& task, std::int64_t batch, const Session& session) {
  auto options = Options(place, task, false, session);
  options.order = RecordOrder::kInOrder;
  options.remainder = Remainder::kPad;
  options.batch = static_cast<std::uint64_t>(batch);
  options.threads = 1;
  options.prefetch = 2;
  return options;
}

/// Another order for each pair; with the spec's default 0 that of `seed` alone. The odd factor keeps the seeds apart
/// that repeats of a configuration count up.
std::uint64_t SeedOfOrder(std::int64_t seed, std::uint64_t data_seed) {
  return static_cast<std::uint64_t>(seed) + data_seed * 0x9E3779B97F4A7C15U;
}

/// Errors: UsageError.
void RequireFullBatches(Remainder remainder) {
  if (remainder != Remainder::kPad) return;
  throw UsageError(
      "data.train.remainder is pad: gradients are means over batches that are full on every rank: "
      "write repeat, to train on every record, or drop");
}

/// Errors: UsageError.
DatasetPlace Find(const std::string& name) try {
  return slipway::staging::FindDataset(name);
} catch (const slipway::Error& error) {
  throw UsageError(error.message());
}

/// Options that do not fit the files are refused on every rank. Errors: those of the reader.
template <class Action>
auto WithPath(const std::filesystem::path& path, const Action& action) try {
  return action();
} catch (const slipway::Error& error) {
  if (error.kind() != slipway::ErrorKind::kUsage) throw;
  throw UsageError(
      fmt::format("'{}': {}; --help shows the options that say what the data holds", path.string(), error.message()));
}

/// What the reader decodes into; nothing: memory of its own.
std::vector<at::Tensor> MemoryFor(at::Device device, const std::filesystem::path& path, const BatchOptions& options,
                                  const Task& task) {
  if (device.is_cpu()) return {};
  return WithPath(path,
                  [&] { return PinnedMemory(options.prefetch + 1, BatchReader::BytesOf(path, options), task.name()); });
}

}  // namespace

Records::Records(const Task& task, const DatasetPlace& place, const BatchOptions& options, at::Device device)
    : task_(task),
      on_corrupt_(options.on_corrupt),
      in_order_(options.order == RecordOrder::kInOrder),
      data_seed_(place.defaults.seed),
      remainder_(options.remainder),
      records_per_pass_(options.batch * static_cast<std::uint64_t>(options.world)),
      memory_(MemoryFor(device, place.path, options, task)),
      reader_(WithPath(place.path, [&] { return BatchReader::Open(place.path, options, SlotsOf(memory_)); })),
      ahead_(device.is_cpu() ? nullptr : std::make_unique<OneAhead<Copies>>(Copies(device))) {}

Records Records::ForTraining(const Task& task, const Settings& settings, const Arguments& arguments,
                             const BatchPlace& batch, const Session& session) {
  const auto place = Find("train");
  auto options = Options(place, task, true, session);
  RequireFullBatches(options.remainder);
  options.batch = static_cast<std::uint64_t>(batch.size);
  options.seed = SeedOfOrder(arguments.seed, place.defaults.seed);
  options.split = {settings.validation_fraction, settings.validation_seed, false};
  options.limit = static_cast<std::uint64_t>(arguments.train_records);
  options.threads = static_cast<int>(arguments.reader_threads);
  return {task, place, options, batch.device};
}

Records Records::ForValidation(const Task& task, const Settings& settings, const BatchPlace& batch,
                               const Session& session) {
  const auto place = Find("train");
  auto options = InOrder(place, task, batch.size, session);
  options.split = {settings.validation_fraction, settings.validation_seed, true};
  return {task, place, options, batch.device};
}

Records Records::ForTest(const Task& task, const BatchPlace& batch, const Session& session) {
  const auto place = Find("test");
  return {task, place, InOrder(place, task, batch.size, session), batch.device};
}

void Records::Begin(std::int64_t epoch, std::int64_t pass) {
  if (ahead_) ahead_->Drop();
  next_number_ = 0;
  const auto passes_done = static_cast<std::uint64_t>(std::min(pass, passes()));
  reader_.Seek({static_cast<std::uint64_t>(epoch), passes_done * records_per_pass_});
}

std::optional<TensorBatch> Records::Next() {
  const auto on_host = [this] { return NextOnHost(); };
  return ahead_ ? ahead_->Next(on_host) : on_host();
}

std::optional<TensorBatch> Records::NextOnHost() {
  slipway_input_begin();
  const auto* batch = reader_.Next();
  slipway_input_end();
  if (batch == nullptr) return {};
  auto shape = task_.InputShape();
  shape.insert(shape.begin(), static_cast<std::int64_t>(batch->valid_count));
  const auto records = batch->records.first(batch->valid_count);
  TensorBatch tensors{TensorOf(batch->fields[0], batch->valid_count).view(shape),
                      TensorOf(batch->fields[1], batch->valid_count),
                      {records.begin(), records.end()}};
  CheckLabels(tensors);
  if (in_order_ && on_corrupt_ == OnCorrupt::kSkip) return WithoutStandIns(tensors);
  return tensors;
}

/// Removes stand-ins, so that an evaluation counts every record once. A record that stands in for a damaged one comes
/// twice: before its own place and there, or there and later. Records are in order, so those count that have a larger
/// number than all before.
TensorBatch Records::WithoutStandIns(const TensorBatch& batch) {
  std::vector<std::int64_t> rows;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    if (batch.records[i] < next_number_) continue;
    rows.push_back(static_cast<std::int64_t>(i));
    numbers.push_back(batch.records[i]);
    next_number_ = batch.records[i] + 1;
  }
  if (rows.size() == batch.records.size()) return batch;
  const auto kept = at::tensor(rows, at::kLong);
  return {batch.input.index_select(0, kept), batch.target.index_select(0, kept), std::move(numbers)};
}

std::optional<Skipped> Records::TakeSkipped() {
  if (on_corrupt_ == OnCorrupt::kFail) return {};
  const auto& stats = reader_.stats();
  Skipped skipped{static_cast<std::int64_t>(stats.replaced - skipped_before_), {}};
  for (; met_before_ < stats.corrupt.size(); ++met_before_) skipped.first_met.push_back(stats.corrupt[met_before_]);
  skipped_before_ = stats.replaced;
  return skipped;
}

void Records::CheckLabels(const TensorBatch& batch) const {
  if (task_.classes() == 0) return;
  const auto first = task_.first_label();
  const auto last = first + task_.classes() - 1;
  const std::span labels(batch.target.data_ptr<std::int64_t>(), batch.records.size());
  const auto wrong = std::ranges::find_if(labels, [&](auto label) { return label < first || label > last; });
  if (wrong == labels.end()) return;
  const auto record = batch.records[static_cast<std::size_t>(wrong - labels.begin())];
  throw std::runtime_error(
      fmt::format("{} has label {}: must be {} to {}", reader_.Describe(record), *wrong, first, last));
}

void Records::RequireFinite(const TensorBatch& batch) const {
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (batch.input[row].isfinite().all().item<bool>() && batch.target[row].isfinite().all().item<bool>()) continue;
    throw std::runtime_error(fmt::format("{} holds values that are not finite", reader_.Describe(batch.records[i])));
  }
}

}  // namespace trainers
