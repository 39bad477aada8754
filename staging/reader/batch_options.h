/// What a program asks of the batch reader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"
#include "staging/reader/elements.h"
#include "staging/reader/sharding.h"
#include "staging/reader/transforms.h"

namespace slipway::staging {

/// In which order records come. Words of options.
enum class RecordOrder {
  kGlobal,    ///< any record may come anywhere
  kWindowed,  ///< files at random, records through a window: needs only the files at hand
  kInOrder    ///< as the files have them, every epoch
};
WordTable<RecordOrder> WordsOf(RecordOrder);

/// One field of a batch.
struct BatchField {
  std::string name;                 ///< in the dataset
  std::optional<ElementType> type;  ///< TFRecord: what the bytes of a feature are (little endian); default uint8
  std::optional<Shape> shape;       ///< TFRecord: of one record; default one dimension, a single number none
  std::vector<Transform> transforms;
};

/// The records of one side of Split().
struct SplitPart {
  double fraction = 0;
  std::uint64_t seed = 0;
  bool validation = false;
};

/// The records of all nodes, when each node has only some. Records are numbered node after node.
struct NodeShares {
  std::vector<NodeRecords> nodes;
  std::size_t node = 0;  ///< this one
};

/// The number of the first record on this node.
std::uint64_t FirstRecordOf(const std::optional<NodeShares>& shares);

struct BatchOptions {
  std::vector<BatchField> fields;
  /// TFRecord, WebDataset, images: also the whole records, as they are stored.
  bool payloads = false;

  std::uint64_t batch = 1;  ///< records on this rank
  std::uint64_t seed = 0;
  RecordOrder order = RecordOrder::kGlobal;
  std::uint64_t window = 16384;  ///< records, of kWindowed; a set is well mixed when 10 files or more fit in
  std::optional<SplitPart> split;
  std::uint64_t limit = 0;  ///< only the first so many records (of the split's part); 0 = all
  int rank = 0;             ///< with `shares`, among the ranks of this node
  int world = 1;
  std::optional<NodeShares> shares;
  Remainder remainder = Remainder::kDrop;
  OnCorrupt on_corrupt = OnCorrupt::kFail;

  std::uint64_t epochs = 0;  ///< reading ahead ends there; 0 = no end
  EpochPosition position;    ///< where to begin

  int threads = 2;
  std::uint64_t prefetch = 4;  ///< batches that may be ready beside the one in use
};

/// Reads JSON with these keys:
/// - "fields": [{"name", "type", "shape", "transforms"}], "payloads", "batch", "seed"
/// - "order": "global" | "windowed" | "in_order", "window"
/// - "split": {"fraction", "seed", "part": "train" | "validation"}, "limit"
/// - "rank", "world", "shares": {"nodes": [{"records", "ranks"}], "node"}
/// - "remainder": "drop" | "repeat" | "pad", "on_corrupt": "fail" | "skip", "epochs"
/// - "position": {"epoch", "records_done", "shares"}, "threads", "prefetch"
///
/// Missing keys keep the values of `defaults`. With "shares" the rank is `local_rank`, if that is given. With the
/// shares of `defaults`, "rank" and "world" can only be those of `defaults`: the job's.
/// Errors: Error(kUsage) naming the key and what is expected.
BatchOptions ParseBatchOptions(std::string_view text, BatchOptions defaults, std::optional<int> local_rank = {});

/// {"epoch": 3, "records_done": 1024}, and "shares", 8 hexadecimal digits, where a position has them.
std::string PositionText(const EpochPosition& position);
/// Errors: Error(kUsage).
EpochPosition ParsePosition(std::string_view text);

/// The place of a dataset and what the launcher says of it.
struct DatasetPlace {
  std::filesystem::path path;
  /// Rank and world of RANK and WORLD_SIZE, remainder and on_corrupt of SLIPWAY_CONFIG's data.NAME, shares of the list
  /// that SLIPWAY_SHARES_<NAME> names.
  BatchOptions defaults;
  std::optional<int> local_rank;  ///< of LOCAL_RANK
};

/// Makes `options`, with the job's rank and world, read this node's share of the launcher's list, if there is one.
/// Errors: Error(kUsage) when neither options nor environment say which rank of its node this is.
void TakeShare(const DatasetPlace& place, BatchOptions& options);

/// `name` is a path when it holds a '/' or SLIPWAY_DATA_<NAME> is not set. Otherwise the launcher staged it, at the
/// place in that variable.
/// Errors: Error(kUsage): variables that are not numbers, a broken SLIPWAY_CONFIG. Error(kEnvironment): a list of
///         shares that cannot be read, or does not contain this node's directory.
DatasetPlace FindDataset(const std::string& name);

}  // namespace slipway::staging
