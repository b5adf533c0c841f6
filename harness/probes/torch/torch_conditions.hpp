// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepleak {

struct TorchConditions {
  std::uint64_t seed = 0;
  bool with_gpus = false;  ///< seed their generators, too, which starts CUDA
};

/// Seeds torch's generators. CUDA is not started for a run that needs none: children that the
/// user forks later could not use it any more.
void apply_torch_conditions(const TorchConditions& conditions);

/// So many of torch's intra-op threads until its end, which is the calling thread's too; 0: as they are.
class IntraOpThreads {
 public:
  explicit IntraOpThreads(int count);
  IntraOpThreads(const IntraOpThreads&) = delete;
  IntraOpThreads& operator=(const IntraOpThreads&) = delete;
  ~IntraOpThreads();

 private:
  int before_;  ///< 0: they were left
};

/// Versions, allocator settings and torch_switches(), by name, for the result.
[[nodiscard]] std::map<std::string, std::string> torch_conditions();

/// Of them what a step may change: threads and flags as they are now.
[[nodiscard]] std::map<std::string, std::string> torch_switches();

}  // namespace stepleak
