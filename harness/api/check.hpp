// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/policy.hpp"
#include "harness/runner/runner.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// How a step is judged; the defaults are the front doors' defaults.
struct Options {
  std::string target = "step";      ///< the name in reports
  std::string device = "auto";      ///< "auto": the first visible GPU, else the host; "cpu"; "cuda:N"
  std::string effort = "standard";  ///< "quick", "standard" or "nightly"
  std::int64_t steps = 0;           ///< the most steps to judge; 0: the effort's budget
  std::int64_t minimum_steps = 0;   ///< no verdict before these; 0: the effort's minimum
  std::int64_t period = 0;          ///< the step repeats after so many calls (accumulation, evaluation); 0: found
  std::uint64_t seed = 0;           ///< of torch, Python and NumPy
  int threads = 0;                  ///< torch's intra-op threads; 0: as they are
  bool with_cuda_objects = false;   ///< explain raw CUDA memory, streams, events and graphs too; a torch.profiler that
                                    ///< starts later in this process then sees no GPU events (CUPTI has one subscriber)
};

/// What a front door adds to the C++ core; all pointers outlive the call.
struct Surroundings {
  std::vector<Probe*> probes;
  Collector* collector = nullptr;
  std::vector<HolderSearch*> holder_searches;
  FlightRecorder* recorder = nullptr;
};

/// Repeats a step in this process, judges it and explains what it finds. The set-up has run before.
/// Seeds the generators, and leaves them as the step left them. Throws usage errors for wrong options; a step
/// that throws gives the verdict `failure`. Not to be called from two threads at once: memory is the process's.
[[nodiscard]] Result check(const Step& step, const Options& options = {}, const Surroundings& surroundings = {});

/// How many steps to repeat in each pass.
struct Passes {
  std::int64_t screen_steps = 0;
  std::int64_t explain_steps = 0;
  std::int64_t explain_stride = 1;  ///< births are recorded in every so-many-th of them
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
