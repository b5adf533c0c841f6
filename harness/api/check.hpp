// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "harness/api/options.hpp"
#include "harness/api/result_of.hpp"
#include "harness/drive/step.hpp"
#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Repeats a step in this process, judges it and explains what it finds. The set-up has run before.
/// Seeds the generators, and leaves them as the step left them. Throws usage errors for wrong options; a step
/// that throws gives the verdict `failure`. One check or watch at a time: memory is the process's, so another one,
/// nested or from another thread, throws a usage error.
[[nodiscard]] Result check(const Step& step, const Options& options = {}, const Surroundings& surroundings = {});

/// The same, up to the judging: what check() judges. Errors as there.
[[nodiscard]] RunRecord record_run(const Step& step, const Options& options = {},
                                   const Surroundings& surroundings = {});

/// How many steps to repeat in each pass.
struct Passes {
  std::int64_t screen_steps = 0;
  std::int64_t record_steps = 0;
  std::int64_t record_stride = 1;  ///< births are recorded in every so-many-th of them
};

/// Repeats a step under the same observation as check() and judges nothing: for benchmarks of what watching costs.
/// Throws what the step throws.
Trace observe(const Step& step, const Passes& passes, const Options& options = {},
              const Surroundings& surroundings = {});

/// The device that "auto" stands for here, or the parsed one. Throws a failure error where it is not visible, with
/// the reason. Starts CUDA's driver, unless the name is "cpu".
[[nodiscard]] Device device_of(const std::string& name);

/// The same before a fork: asks CUDA in a child process.
[[nodiscard]] Device device_before_fork(const std::string& name);

}  // namespace stepleak
