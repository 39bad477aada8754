/// Shares the files of a dataset out to the nodes of a job.
#pragma once

#include <cstddef>
#include <vector>

#include "staging/plan/plan.h"

namespace slipway::staging {

/// Chooses the node for each file: the largest file first, each to the node with the fewest bytes so far (the lowest
/// number among equals). Then no node has more than 4/3 of the least possible maximum (Graham 1969). Pure.
///
/// Result: every file on exactly one node; a node has no file only when there are fewer files than nodes. The same for
///         the same sizes in the same order.
/// Cost:   n log n.
std::vector<int> AssignFiles(const std::vector<SourceFile>& files, int nodes);

/// The files of `node`, in their order.
std::vector<SourceFile> FilesOfNode(const std::vector<SourceFile>& files, const std::vector<int>& owners, int node);

/// What each node holds.
std::vector<NodeContent> SumShares(const std::vector<SourceFile>& files, const std::vector<int>& owners, int nodes);

}  // namespace slipway::staging
