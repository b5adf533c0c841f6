// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/observe/piece_probe.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// Makes a leak inconclusive that rests on differences alone, as of the host heap, which another piece of work in the
/// process may have caused: where its group gives back as much as the piece has added, and where others keep memory.
/// `keepers`: the names of those, asked for where it depends on them.
void doubt(Result& result, const Trace& trace, const PieceProbe& probe,
           const std::function<std::vector<std::string>()>& keepers);

}  // namespace stepleak
