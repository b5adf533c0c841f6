// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/api/check.hpp"
#include "harness/base/errors.hpp"
#include "harness/drive/step.hpp"

namespace stepleak {

class PythonCollector;
class PythonHolderSearch;
class PythonPeers;
class PythonProbe;

/// What Python raised as a person reads it: the error's line first, then the user's frames. `error` is a
/// `pybind11::error_already_set*`; needs the GIL.
[[nodiscard]] std::string exception_text(void* error);

/// What Python raised as an error of the front door where that is stepleak's UsageError. `error` as above.
[[nodiscard]] std::optional<Error> wrong_use_of(void* error);

/// What becomes of the process after a run.
enum class AfterRun : std::uint8_t {
  goes_on,  ///< all is undone
  ends,     ///< what takes time to undo is left
};

/// What an interpreter adds to a run: its collector, its objects, who holds them. `root`: the step or the loop's owner
/// as a `PyObject*`, whose name paths start with; null: none. Made and dropped without the GIL, or with it.
class PythonSurroundings {
 public:
  PythonSurroundings(void* root, FlightRecorder* recorder, const Options& options, AfterRun after = AfterRun::goes_on,
                     LoopOwner owner = LoopOwner::stepleak);
  PythonSurroundings(const PythonSurroundings&) = delete;
  PythonSurroundings& operator=(const PythonSurroundings&) = delete;
  ~PythonSurroundings();

  [[nodiscard]] Surroundings get() const;
  /// With what the other ranks came to, where there are any.
  [[nodiscard]] Result joined(Result own) const;
  /// What Python knows of the run and no ledger tells, once it is over.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  std::unique_ptr<PythonCollector> collector_;  // outlives what stands below
  std::unique_ptr<PythonProbe> objects_;
  std::unique_ptr<PythonHolderSearch> holders_;
  std::unique_ptr<PythonPeers> peers_;  ///< null: one process
  FlightRecorder* recorder_;
  CodeFolders folders_;
  std::function<std::string()> unseen_device_;
  LoopOwner owner_;
};

/// record_run() for a Python step. Call it without the GIL.
[[nodiscard]] RunRecord record_python_run(void* callable, bool takes_index, const Options& options,
                                          FlightRecorder* recorder = nullptr);

/// What a step came to, and what that rests on.
struct Judged {
  RunRecord record;
  Result result;
};

/// check() for a Python step, with what the other ranks came to. Call it without the GIL.
[[nodiscard]] Judged check_python(void* callable, bool takes_index, const Options& options);

/// observe() for a Python step. Call it without the GIL.
Trace observe_python(void* callable, bool takes_index, const Passes& passes, const Options& options);

}  // namespace stepleak
