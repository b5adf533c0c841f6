// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/drive/stop_signals.hpp"
#include "harness/observe/flight_recorder.hpp"

namespace stepleak {

/// What a worker may use before it is stopped. 0: no limit.
struct WorkerLimits {
  double timeout_seconds = 0;
  std::int64_t memory_bytes = 0;  ///< RLIMIT_DATA: private writable memory, beyond what the server holds
};

/// One piece of work for a process of its own.
struct WorkerTask {
  std::string name;
  /// Runs in the worker; what it returns is carried back. The server's memory is there, its threads are not.
  std::function<std::string(FlightRecorder&)> body;
  WorkerLimits limits;
  /// Since when its timeout counts, where each of its parts may take as long; none: from its start.
  std::function<std::chrono::steady_clock::time_point()> last_part;
  bool show_output = false;  ///< let the worker's stdout and stderr through instead of keeping them
  /// Runs in the worker once its result is handed over, for a minute at most: what it makes of that takes its place,
  /// unless it is empty. However it ends, the result of before stays.
  std::function<std::string(const std::string& result)> amend;
  /// Runs in the worker after that, for two seconds at most; how it ends changes nothing.
  std::function<void()> farewell;
};

/// How a worker ended.
struct WorkerEnd {
  bool is_finished = false;  ///< the body returned
  std::string payload;       ///< what it returned
  std::string what;          ///< else: "killed by SIGSEGV in step 17"
  std::string remedy;
  bool is_interrupted = false;  ///< a signal to the server stopped it
  std::string output_tail;      ///< the last lines that it printed
  double seconds = 0;
  Trace trace;    ///< ledgers up to the end, where it did not finish
  Policy policy;  ///< of the verdict that stood by then, where one did
};

/// Receives what happens; called from the server's thread.
struct WorkerEvents {
  std::function<void(std::size_t task, const WorkerEnd& end)> on_end;
  /// Some ten times a second: tasks ended so far, and a running task with its ledgers.
  std::function<void(std::size_t ended, std::size_t task, const FlightRecorder& recorder)> on_progress;
};

/// Forks a fresh worker for each task, at most `jobs` at once, and waits for all. The calling process must have one
/// thread only (expect_one_thread()). A worker dies with its server, however that dies, and all that a worker started
/// with the worker. On SIGINT, SIGTERM and SIGHUP the workers are stopped, each with its on_end, no other is started,
/// and it returns; the second one ends the process at once. On SIGTSTP the workers stop and go on with the server.
void run_workers(const std::vector<WorkerTask>& tasks, int jobs, const StopSignals& stop, const WorkerEvents& events);

/// The signal that has stopped run_workers(), or came after it; 0: none did.
[[nodiscard]] int stopping_signal();

}  // namespace stepleak
