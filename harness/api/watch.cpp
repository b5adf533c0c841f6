// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/watch.hpp"

#include <unistd.h>

#include "harness/api/check.hpp"
#include "harness/api/run_setup.hpp"

namespace stepleak {

struct Watch::Parts {
  Parts(const Options& options, const Surroundings& surroundings)
      // What stays on in a loop of the user's costs him at each operator, which blocks and the heap answer for.
      : setup(options, surroundings, LoopOwner::user), session(setup.parts()) {}

  RunSetup setup;
  Session session;
};

Watch::Watch(const Options& options, const Surroundings& surroundings)
    : own_(std::make_unique<Parts>(options, surroundings)), process_(::getpid()), target_(options.target) {
  own_->session.start();
  own_->session.begin_step();
}

Watch::~Watch() {
  if (is_in_child()) leave_to_parent();
}

// There, threads may have held any lock at the fork: nothing is taken back, and its memory is let be.
void Watch::leave_to_parent() { (void)own_.release(); }

bool Watch::is_in_child() const { return ::getpid() != process_; }

bool Watch::step() {
  if (is_decided()) return false;
  if (is_in_child()) return true;
  try {
    if (own_->session.end_step() == Next::stop) {
      end();
      return false;
    }
    own_->session.begin_step();
    return true;
  } catch (const PeerFailure& failure) {
    own_->session.fail(StepFailure(failure.what(), "see what that rank printed"));
  } catch (const StepFailure& failure) {
    own_->session.fail(failure);
  }
  end();
  return false;
}

void Watch::mark(MarkType type) {
  if (!is_decided() && !is_in_child()) own_->session.mark(type);
}

bool Watch::is_decided() const { return record_.has_value(); }

void Watch::fail(const std::string& what) {
  if (is_decided() || is_in_child()) return;
  own_->session.fail(StepFailure(what));
  end();
}

const Result& Watch::finish() {
  if (!result_) result_ = result_of(record());
  return *result_;
}

const RunRecord& Watch::record() {
  if (!is_decided()) end();
  return *record_;
}

void Watch::end() {
  if (is_in_child()) {
    record_ = RunRecord{.target = target_,
                        .failure = RunFailure{.reason = "a forked child is not watched",
                                              .what = "this is a child process that the loop forked",
                                              .remedy = "ask in its parent, whose watch goes on"}};
    leave_to_parent();
    return;
  }
  record_ = own_->session.finish();
  own_->setup.complete(*record_);
  own_.reset();  // with its probes, which take back in their destructors what they attached
}

}  // namespace stepleak
