// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Stored runs: what can be read is judged and reported in every form, and reads the same when written again.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "detectors/detectors.hpp"
#include "harness/base/errors.hpp"
#include "harness/explain/conclusion.hpp"
#include "harness/report/console.hpp"
#include "harness/report/junit.hpp"
#include "harness/trace/run_record_json.hpp"
#include "harness/trace/serialise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepleak;
  static const auto kAll = all_detectors();
  static const auto kDetectors = [] {
    std::vector<const Detector*> detectors;
    for (const auto& detector : kAll) detectors.push_back(detector.get());
    return detectors;
  }();
  try {
    const auto record = run_record_from_json({reinterpret_cast<const char*>(data), size}, "input");
    const auto again = run_record_from_json(to_json(record), "what was written");
    if (to_json(again) != to_json(record)) __builtin_trap();
    const auto result = conclude(record, kDetectors);
    (void)to_json(result);
    (void)to_junit("fuzz", {{&result, to_console(result)}});
  } catch (const Error&) {
    // refused, with what is wrong
  } catch (const std::out_of_range&) {
    // it contradicts itself: AnalyzeCommand says so
  }
  return 0;
}
