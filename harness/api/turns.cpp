// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/turns.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/api/result_of.hpp"
#include "harness/api/run_setup.hpp"
#include "harness/api/turn_doubts.hpp"
#include "harness/base/errors.hpp"
#include "harness/observe/piece_probe.hpp"
#include "harness/probes/torch/graph_probe.hpp"

namespace stepleak {
namespace {

Options without_seeding(Options options) {
  options.seeds = false;
  return options;
}

}  // namespace

struct Turns::Parts {
  struct Piece {
    Piece(Parts& all, int number, const std::string& name) : probe(all.book, number, all.group) {
      if (all.group != nullptr) all.group->add(probe);
      auto parts = all.setup.parts();
      parts.target = name;
      parts.observer.probes = {&probe};
      parts.stacks = &probe;
      session = std::make_unique<Session>(std::move(parts));
      session->start();
    }

    PieceProbe probe;
    std::unique_ptr<Session> session;  // none once the piece is judged
    std::optional<Result> result;
    // What a judged piece has cost is held: the process's heap would fall by it, and as far hide what others keep.
    std::unique_ptr<Session> judged;
    std::optional<RunRecord> record;
    std::int64_t turns = 0;
  };

  explicit Parts(const Options& options)
      : setup(without_seeding(options), {}),
        outside_name(options.target),
        book(setup.parts().observer.probes, *setup.parts().stacks, &graph_births) {
    piece_of(outside_name).session->begin_step();
  }

  Piece& piece_of(const std::string& name) {
    auto& piece = pieces[name];
    if (!piece) piece = std::make_unique<Piece>(*this, static_cast<int>(pieces.size()) - 1, name);
    return *piece;
  }
  Piece& outside() { return *pieces.at(outside_name); }

  // The names of other pieces that keep memory of many of their turns.
  [[nodiscard]] std::vector<std::string> keepers_beside(const Piece& piece) {
    const auto keepers = book.keepers();
    std::vector<std::string> names;
    for (const auto& [name, other] : pieces) {
      if (other.get() != &piece && keepers.contains(other->probe.number())) names.push_back(name);
    }
    return names;
  }

  void conclude(Piece& piece) {
    if (piece.result) return;
    piece.record = piece.session->finish();
    setup.complete(*piece.record);
    piece.result = result_of(*piece.record);
    doubt(*piece.result, piece.record->trace, piece.probe, [&] { return keepers_beside(piece); });
    piece.judged = std::move(piece.session);
  }

  void end_step(Piece& piece) {
    ++piece.turns;
    if (!piece.session) return piece.probe.pause();
    try {
      if (piece.session->end_step() == Next::stop) conclude(piece);
    } catch (const StepFailure& failure) {
      piece.session->fail(failure);
      conclude(piece);
    }
  }

  RunSetup setup;
  std::string outside_name;
  TurnBook book;
  std::map<std::string, GroupLedgers> groups;
  GroupLedgers* group = nullptr;  // the open one
  std::map<std::string, std::unique_ptr<Piece>> pieces;
  Piece* open = nullptr;
};

Turns::Turns(const Options& options) : own_(std::make_unique<Parts>(options)) {}

Turns::~Turns() = default;

void Turns::begin_group(const std::string& group) {
  if (own_->open != nullptr) throw usage_error("a turn has not ended yet", "call end() first");
  auto& outside = own_->outside().probe;
  outside.pause();
  own_->group = &own_->groups.try_emplace(group, own_->book).first->second;
  own_->group->begin();
  outside.resume();
}

void Turns::end_group() {
  if (own_->group == nullptr) throw usage_error("no group has begun", "call begin_group() first");
  auto& outside = own_->outside().probe;
  outside.pause();
  own_->group->end();
  own_->group = nullptr;
  outside.resume();
}

void Turns::begin(const std::string& piece) {
  if (own_->open != nullptr) throw usage_error("a turn has not ended yet", "call end() first");
  own_->outside().probe.pause();
  // What is made here for a new piece lies in nobody's turn.
  own_->open = &own_->piece_of(piece);
  auto& open = *own_->open;
  // Also where it is judged: what it makes is not of what lies outside.
  open.session ? open.session->begin_step() : open.probe.begin_step(open.turns + 1);
}

void Turns::end() {
  if (own_->open == nullptr) throw usage_error("no turn has begun", "call begin() first");
  own_->end_step(*std::exchange(own_->open, nullptr));
  own_->outside().probe.resume();
}

void Turns::end_round() {
  if (own_->open != nullptr) throw usage_error("a turn has not ended yet", "call end() first");
  auto& outside = own_->outside();
  own_->end_step(outside);
  outside.session ? outside.session->begin_step() : outside.probe.begin_step(outside.turns + 1);
}

std::int64_t Turns::turns_of(const std::string& piece) const {
  const auto found = own_->pieces.find(piece);
  return found == own_->pieces.end() ? 0 : found->second->turns;
}

bool Turns::is_decided(const std::string& piece) const {
  const auto found = own_->pieces.find(piece);
  return found != own_->pieces.end() && found->second->result.has_value();
}

const Result& Turns::result(const std::string& piece) {
  auto& found = own_->piece_of(piece);
  own_->conclude(found);
  return *found.result;
}

}  // namespace stepleak
