// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepleak {

struct TorchConditions {
  std::uint64_t seed = 0;
  int threads = 0;         ///< intra-op threads; 0: as they are
  bool with_gpus = false;  ///< seed their generators, too, which starts CUDA
};

/// Seeds torch's generators and sets the thread count. CUDA is not started for a run that needs none: children that the
/// user forks later could not use it any more.
void apply_torch_conditions(const TorchConditions& conditions);

/// Versions, thread counts, flags and allocator settings as they are now, by name, for the result.
[[nodiscard]] std::map<std::string, std::string> torch_conditions();

}  // namespace stepleak
