// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Baselines: what can be read is the same as itself, also when it is written again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/base/errors.hpp"
#include "harness/gate/baseline.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepleak;
  try {
    const auto baseline = baseline_from_json({reinterpret_cast<const char*>(data), size}, "input");
    const auto again = baseline_from_json(to_json(baseline), "what was written");
    if (compare(baseline, again).change != Change::same) __builtin_trap();
  } catch (const Error&) {
    // refused, with what is wrong
  }
  return 0;
}
