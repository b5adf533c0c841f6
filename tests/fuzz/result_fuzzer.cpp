// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Results, as ranks hand them to each other: what can be read is reported, and reads the same when written again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/base/errors.hpp"
#include "harness/report/console.hpp"
#include "harness/report/junit.hpp"
#include "harness/trace/serialise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepleak;
  try {
    const auto result = result_from_json({reinterpret_cast<const char*>(data), size});
    if (to_json(result_from_json(to_json(result))) != to_json(result)) __builtin_trap();
    (void)to_junit("fuzz", {{&result, to_console(result)}});
  } catch (const Error&) {
    // refused, with what is wrong
  }
  return 0;
}
