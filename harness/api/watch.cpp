// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/watch.hpp"

#include "harness/api/check.hpp"
#include "harness/api/run_setup.hpp"

namespace stepleak {

struct Watch::Parts {
  Parts(const Options& options, const Surroundings& surroundings)
      : setup(options, surroundings), session(setup.parts()) {}

  RunSetup setup;
  Session session;
};

Watch::Watch(const Options& options, const Surroundings& surroundings)
    : own_(std::make_unique<Parts>(options, surroundings)) {
  own_->session.start();
  own_->session.begin_step();
}

Watch::~Watch() = default;

bool Watch::step() {
  if (is_decided()) return false;
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
  if (!is_decided()) own_->session.mark(type);
}

bool Watch::is_decided() const { return record_.has_value(); }

void Watch::fail(const std::string& what) {
  if (is_decided()) return;
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
  record_ = own_->session.finish();
  own_->setup.complete(*record_);
  own_.reset();  // with its probes, which take back in their destructors what they attached
}

}  // namespace stepleak
