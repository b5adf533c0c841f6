// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/explain/user_frames.hpp"
#include "harness/observe/flight_recorder.hpp"
#include "harness/probes/collector.hpp"
#include "harness/probes/holder_search.hpp"
#include "harness/probes/probe.hpp"
#include "harness/probes/raw_stack.hpp"
#include "harness/session/peers.hpp"

namespace stepleak {

/// How a step is judged; the defaults are the front doors' defaults.
struct Options {
  std::string target = "step";        ///< the name in reports
  std::string device = "auto";        ///< "auto": the first visible GPU, else the host; "cpu"; "cuda:N"
  std::string effort = "standard";    ///< "quick", "standard" or "nightly"
  std::int64_t steps = 0;             ///< the most steps to run, in all passes; 0: the effort's budget
  std::int64_t minimum_steps = 0;     ///< no verdict before these; 0: the effort's minimum
  std::int64_t watched_steps = 0;     ///< a clean verdict before these ends nothing: what is rarer shows; 0: it does
  std::int64_t period = 0;            ///< the step repeats after so many calls (accumulation, evaluation); 0: found
  double budget_seconds = 0;          ///< the most time to run, in all passes; 0: unlimited
  std::uint64_t seed = 0;             ///< of torch, Python and NumPy; a watch leaves all generators alone
  bool seeds = true;                  ///< false: all generators stay as the user left them
  int threads = 0;                    ///< torch's intra-op threads; 0: as they are
  double peer_timeout_seconds = 300;  ///< of several ranks: how long one waits for another
  /// When the process is ended, with its result or without: what is searched for late must not take all that is left.
  std::optional<std::chrono::steady_clock::time_point> ends_at;
  bool with_cuda_objects = false;  ///< count and name raw CUDA memory, streams, events ...; a torch.profiler that
                                   ///< starts later in this process then sees no GPU events (CUPTI has one subscriber)
};

/// Whose loop it is.
enum class LoopOwner : std::uint8_t {
  stepleak,
  user,  ///< what takes long at a boundary or at operators is done at few: collections, the count of live tensors and
         ///< nodes
};

/// What a front door adds to the C++ core; all pointers outlive the run.
struct Surroundings {
  std::vector<Probe*> probes;
  Collector* collector = nullptr;
  std::vector<HolderSearch*> holder_searches;
  /// What names the captured stacks in place of their own source; empty: that does. It outlives the other.
  std::function<std::unique_ptr<StackSource>(StackSource&)> stacks_around;
  FlightRecorder* recorder = nullptr;
  CodeFolders folders;  ///< of the interpreter, which tell the user's frames from others
  Peers* peers = nullptr;
  std::map<std::string, std::string> conditions;         ///< what else was in force, for the result
  std::function<std::vector<DeclaredBound>()> declared;  ///< bounds that the program declares; empty: none can be
};

}  // namespace stepleak
