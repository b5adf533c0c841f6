// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepleak {

struct TorchConditions {
  std::uint64_t seed = 0;
  int threads = 0;  ///< intra-op threads; 0: as they are
};

/// Seeds torch's generators and sets the thread count.
void apply_torch_conditions(const TorchConditions& conditions);

/// Versions, thread counts, flags and allocator settings as they are now, by name, for the result.
[[nodiscard]] std::map<std::string, std::string> torch_conditions();

}  // namespace stepleak
