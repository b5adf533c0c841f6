// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/api/options.hpp"
#include "harness/session/session.hpp"

namespace stepleak {

/// Probes, detectors and conditions of one run, put together and taken apart again.
class RunSetup {
 public:
  /// Seeds torch's generators. Throws usage errors for wrong options and where another run of this process has
  /// not ended, failure errors where the device is not visible.
  RunSetup(const Options& options, const Surroundings& surroundings, LoopOwner owner = LoopOwner::stepleak);
  RunSetup(const RunSetup&) = delete;
  RunSetup& operator=(const RunSetup&) = delete;
  ~RunSetup();

  [[nodiscard]] const SessionParts& parts() const;
  /// Adds to a finished run's record what the probes could not see, how much memory the devices have, what the program
  /// declares of its containers, and the threads and flags of torch that it ended with.
  void complete(RunRecord& record) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> own_;
};

}  // namespace stepleak
