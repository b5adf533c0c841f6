// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/drive/repeat.hpp"

#include <unistd.h>

#include <new>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

constexpr const char* kOwnFailure = "stepleak itself failed: ";

// Whatever a step throws is the step's failure, with the first line of its message (torch adds its own stack).
void call_step(const Step& step, std::int64_t index) {
  try {
    step(index);
  } catch (const StepFailure&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::wrong_use) throw;
    throw StepFailure(std::string("the step threw: ") + error.what(), error.remedy());
  } catch (const std::bad_alloc&) {
    throw StepFailure("the step threw std::bad_alloc");
  } catch (const std::exception& error) {
    const std::string what = error.what();
    throw StepFailure("the step threw: " + what.substr(0, what.find('\n')));
  } catch (...) {
    throw StepFailure("the step threw something that is no std::exception");
  }
}

/// A child that the step forked has returned from it: the run is its parent's.
class ForkedChild {};

void run(const Step& step, Session& session) {
  const auto owner = ::getpid();
  do {
    session.begin_step();
    call_step(step, session.step_count());
    if (::getpid() != owner) throw ForkedChild();
  } while (session.end_step() != Next::stop);
}

}  // namespace

RunRecord repeat(const Step& step, Session& session) {
  session.start();
  try {
    run(step, session);
  } catch (const StepFailure& failure) {
    session.fail(failure);
  } catch (const ForkedChild&) {
    // Neither the ledgers nor the other ranks shall hear of it.
    return {.failure =
                RunFailure{.what = "this is a child process that the step forked, and it came back from the step",
                           .remedy = "end the child in the step: os._exit()"}};
  } catch (const Interrupted&) {
    session.interrupt();
  } catch (const PeerFailure& failure) {
    session.fail(StepFailure(failure.what(), "see what that rank printed"));
  } catch (const Error& error) {
    const bool is_wrong_use = error.code() == ExitCode::wrong_use;
    session.fail(StepFailure((is_wrong_use ? "" : kOwnFailure) + std::string(error.what()), error.remedy()));
    if (is_wrong_use) throw;
  } catch (const std::exception& error) {
    session.fail(StepFailure(kOwnFailure + std::string(error.what()), "please report this"));
  }
  return session.finish();
}

}  // namespace stepleak
