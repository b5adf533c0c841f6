// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stepleak {

/// How a program ended that ran in our place.
struct ScriptEnd {
  int exit_code = 0;   ///< where no signal ended it
  int signal = 0;      ///< that ended it; 0: none
  double seconds = 0;  ///< from its start to its end
};

/// Runs a program as if it stood in our place: it has our standard streams, process group and terminal, and the signals
/// that this process is sent while it runs are its own. (Those from the terminal reach it without us.) It dies with
/// this process. `before_exec` runs in the child, right before the program starts; `meanwhile` here, some twenty times
/// a second while it runs, where there is one. Throws a failure error where it cannot be started.
[[nodiscard]] ScriptEnd run_script(const std::vector<std::string>& command, const std::function<void()>& before_exec,
                                   const std::function<void()>& meanwhile = {});

/// Ends this process as a signal does, without a core: whoever waits for us sees what ended the program. Returns where
/// the signal ends nothing.
void end_by_signal(int signal);

}  // namespace stepleak
