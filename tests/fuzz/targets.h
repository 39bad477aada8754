/// What the fuzzer and the tests of its seeds run: parsers of bytes that others wrote.
///
/// A target returns for every input; it aborts (by FuzzRequire or a sanitizer) when a promise is broken.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::fuzz {

using Input = std::span<const std::byte>;

/// Every input is judged the same whatever the borders of the pieces are, and by stream check and mapped reader alike.
void FuzzTfrecord(Input input);
/// The input is turned into whole records, plain or compressed, and one byte of them may be changed.
void FuzzTfrecordRepaired(Input input);
/// What can be decoded gives the same bytes again.
void FuzzRecordIndex(Input input);
/// Every value lies inside the record; what was counted can be copied.
void FuzzExample(Input input);
/// NumPy headers, zip directories, image headers, HDF5 superblocks.
void FuzzHeaders(Input input);
/// Whole NumPy, npz and idx files, predictions and targets of trials: as many values as the shape says.
void FuzzArrays(Input input);
/// Tables of NumPy: .npy and .npz files as they come, and the input as members with right CRCs. Rows fill their arrays.
void FuzzNpz(Input input);
/// Images of class folders: a size above 0 or an error, and no bytes but those of the file.
void FuzzImages(Input input);
/// Shards of a WebDataset: the same verdict whatever the borders of the pieces are, every value lies in the shard, and
/// the index of records changes nothing.
void FuzzWebdataset(Input input);
/// A shard with an index that is of another one: its first three bytes are the places.
void FuzzWebdatasetIndex(Input input);
/// Manifests, listings and lines of a journal: what can be read survives being written, and no file of a listing lies
/// outside.
void FuzzDocuments(Input input);
/// What nodes say to each other, as it comes and with a right proof: what was sealed comes out, and nothing else.
void FuzzNetwork(Input input);

/// What the manager of a job and the agents of its nodes say to each other, and what ranks show of themselves.
void FuzzNodes(Input input);

struct Target {
  std::string_view name;
  void (*run)(Input input);
};

inline constexpr Target kTargets[] = {{"tfrecord", FuzzTfrecord},
                                      {"tfrecord-repaired", FuzzTfrecordRepaired},
                                      {"record-index", FuzzRecordIndex},
                                      {"example", FuzzExample},
                                      {"headers", FuzzHeaders},
                                      {"arrays", FuzzArrays},
                                      {"npz", FuzzNpz},
                                      {"images", FuzzImages},
                                      {"webdataset", FuzzWebdataset},
                                      {"webdataset-index", FuzzWebdatasetIndex},
                                      {"documents", FuzzDocuments},
                                      {"network", FuzzNetwork},
                                      {"nodes", FuzzNodes}};

/// Small good inputs to start from; the same for each call.
std::vector<std::string> SeedsFor(std::string_view target);

inline std::string_view AsText(Input bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Runs `parse`; an Error that says something is a fine answer to anything.
void Try(const std::function<void()>& parse);

/// Aborts, saying where, unless `promise` holds: in every build.
void FuzzRequire(bool promise, std::string_view what);

}  // namespace slipway::fuzz
