// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/script_device.hpp"

#include <fmt/format.h>

#include "harness/base/errors.hpp"
#include "harness/cli/observing.hpp"
#include "harness/drive/server_threads.hpp"
#include "harness/drive/stop_signals.hpp"
#include "harness/drive/worker.hpp"
#include "harness/trace/device.hpp"

namespace stepleak {
namespace {

// Empty where it can be used; else why not, and behind the last line's end what to do.
std::string trouble_with(const std::string& name) try {
  (void)observing().device_before_fork(name);
  return {};
} catch (const Error& error) {
  return fmt::format("{}\n{}", error.what(), error.remedy());
}

}  // namespace

void check_device_of_script(const std::string& name) {
  if (name == "auto" || parse_device(name) == kHost || thread_names().size() != 1) return;
  WorkerEnd ended;
  {
    // Not here: what waits for the script, for hours maybe, needs no torch.
    const WorkerTask task{.name = "the device " + name, .body = [&](FlightRecorder&) { return trouble_with(name); }};
    const StopSignals signals;
    run_workers({task}, 1, signals, {.on_end = [&](std::size_t, const WorkerEnd& end) { ended = end; }});
  }
  if (!ended.is_finished) {
    throw failure_error(
        fmt::format("no worker can tell whether there is {}: {}\n{}", name, ended.what, ended.output_tail),
        "see what nvidia-smi says, or use --device cpu");
  }
  if (ended.payload.empty()) return;
  const auto line_end = ended.payload.rfind('\n');
  throw failure_error(ended.payload.substr(0, line_end), ended.payload.substr(line_end + 1));
}

}  // namespace stepleak
