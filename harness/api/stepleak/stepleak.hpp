// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// stepleak for C++: does memory that a training step takes ever stop growing, and if not, who keeps it?
///
///   const auto result = stepleak::check([&](std::int64_t) { trainer.step(); });   // repeats a step of yours
///
///   stepleak::Watch watch;                                                       // or watches your own loop
///   for (auto& batch : loader) {
///     trainer.train(batch);
///     watch.step();
///   }
///   if (watch.finish().verdict == stepleak::Verdict::leak) ...
///
/// For assertions in GoogleTest see stepleak/gtest.hpp. One run at a time: the memory that is watched is the process's.
/// C++17 and later.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "stepleak/result.hpp"

namespace stepleak {
namespace v0 {

/// Called once a step, always from the same thread, with the index of the step from 0 on. What it throws fails the run.
using Step = std::function<void(std::int64_t index)>;

/// How a step is judged.
struct Options {
  std::string target = "step";      ///< the name in reports
  std::string device = "auto";      ///< "auto": the first visible GPU, else the host; "cpu"; "cuda:N"
  std::string effort = "standard";  ///< "quick", "standard" or "nightly": clean after 16, 64, 512 steps at least
  std::int64_t steps = 0;           ///< the most steps to run, in all passes; 0: the effort's budget
  std::int64_t minimum_steps = 0;   ///< no verdict before these; 0: the effort's minimum
  std::int64_t period = 0;          ///< the step repeats after so many calls (accumulation, evaluation); 0: found
  double budget_seconds = 0;        ///< the most time to run, in all passes; 0: unlimited
  std::uint64_t seed = 0;           ///< of torch; a Watch leaves all generators alone
  int threads = 0;                  ///< torch's intra-op threads; 0: as they are
  bool with_cuda_objects = false;   ///< count and name raw CUDA memory, streams, events ...; a torch.profiler that
                                    ///< starts later in this process then sees no GPU events (CUPTI has one subscriber)

  // Files that a check or a watch writes once it has decided or ended, before anybody is called; empty: none. Those
  // that cannot be written are refused before the run; what fails at its end is said on stderr, and in the notes.
  std::string json;   ///< the result, as Result::json
  std::string html;   ///< a page with pictures
  std::string trace;  ///< what the result rests on, for `stepleak analyze`
};

/// What begins within a step: pictures show it.
enum class Mark : std::uint8_t {
  epoch,       ///< the data anew, to train on
  evaluation,  ///< data without gradients
};

/// Records from now on, for the life of the process, what tensors on the CPU come and go, at some tens of nanoseconds
/// each. A run does so by itself; called at the beginning of main(), before there are threads, it lets runs see also
/// the end of what your set-up made: of a full ring of tensors each step replaces one. stepleak/gtest.hpp calls it.
void record_cpu_tensors() noexcept;

/// Repeats a step in this process, judges it and explains what it finds. The set-up has run before. Seeds torch's
/// generators, and leaves them as the step left them. Throws Error for wrong options, a device that is not there, and
/// another run under way; a step that throws gives the verdict `failure`.
[[nodiscard]] Result check(const Step& step, const Options& options = {});

/// Called with the result of a loop that leaks. What it throws leaves the call that it was found in.
using OnLeak = std::function<void(const Result&)>;

/// Watches a loop of your own from construction until it has decided, at the latest to its destructor; then the process
/// is as it was. What lies between two calls of step() is one step; locals of the loop are alive at its boundary, which
/// is a level and no growth. All calls from one thread. A verdict that nobody asked for is said in one line on stderr
/// by the destructor, which also writes the files that are asked for, also of a loop that ended undecided. In a child
/// that the loop forks it watches nothing and writes nothing.
class Watch {
 public:
  /// Throws Error as check() does. `on_leak` is called once, out of the step() or finish() that finds a leak.
  explicit Watch(const Options& options = {}, OnLeak on_leak = {});
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// The boundary after a step. False once a verdict stands, or the run's budget is used up; later calls do nothing.
  bool step();
  /// An epoch or an evaluation begins, in the step that runs. Judged the same: periods are found in what is measured.
  void mark(Mark what);
  [[nodiscard]] bool is_decided() const;
  /// Your loop failed: what it keeps of the evidence. `what`: as a person reads it.
  void fail(const std::string& what);
  /// Ends the observation and judges what was seen. Later calls give the same result.
  [[nodiscard]] const Result& finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> own_;
};

}  // namespace v0

#ifndef STEPLEAK_BUILDS_ITSELF
using v0::check;
using v0::Mark;
using v0::OnLeak;
using v0::Options;
using v0::record_cpu_tensors;
using v0::Step;
using v0::Watch;
#endif

}  // namespace stepleak
