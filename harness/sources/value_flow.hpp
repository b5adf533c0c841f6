// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sources/cpp_container.hpp"
#include "harness/trace/survivor.hpp"

namespace stepleak {

/// Whether a method of this name puts something into a container of the standard library.
[[nodiscard]] bool is_filling(std::string_view method);

/// A statement that puts a value into a container which outlives the function.
struct CppFill {
  enum class Type : std::uint8_t {
    entry,  ///< the container gets one more: `kept.push_back(x)`, `map[key] = x`
    item,   ///< what it holds does: `kept[key].push_back(x)`
    group,  ///< an optimizer gets more parameters: `optimizer.add_param_group(net->parameters())`
    slot,   ///< one of a vector is replaced: `ring[i] = x`
    sum,    ///< a variable gets what is made of itself: `sum = sum + x`, `next = cell(state); state = next`
    /// An object gets what holds the object: `x.register_hook([x] ...)`, `net->hook = [net] ...`, and an output in
    /// `context->saved_data["output"] = output`.
    capture,
  };
  Type type = Type::entry;
  TokenAt at;  ///< of the method, "push_back", of the bracket of `kept[key] = value`, or of the mark of an assignment
  TokenAt receiver;
  CppContainer container;
};

/// Follows a value from where it was made to the containers that it is put into: through variables, what functions
/// return, exceptions that callers catch by name, and arguments of the project's own functions.
class ValueFlow {
 public:
  explicit ValueFlow(const CppNames& names) : names_(names) {}

  /// `stack`: where the value was made, innermost frame first. Only the user's frames below the harness's own are
  /// followed. Each fill once, in the order in which they are come by.
  [[nodiscard]] std::vector<CppFill> fills_of(const std::vector<Frame>& stack);

  /// What is filled with what a container has, in the function where something is taken out of that: of
  /// "retired.splice(retired.end(), live, found)" it is `retired`. `removal`: what names the container there.
  [[nodiscard]] std::vector<CppFill> fills_from(const TokenAt& removal, const CppContainer& container);

  /// A function, and the line in it that a frame of a stack is at.
  struct Place {
    CppBlockAt callable;
    int line = 0;
  };
  /// Those of a stack's frames, as above: of the step.
  [[nodiscard]] std::vector<Place> places_of(const std::vector<Frame>& stack) const;

 private:
  bool follow(const CppBlockAt& callable, int line, std::set<std::string_view> values, int depth);
  bool follow_statement(const CppBlockAt& callable, const CppFile& file, TokenRange statement, bool is_origin, int line,
                        std::set<std::string_view>& values, int depth);
  [[nodiscard]] bool is_own_method(TokenAt method) const;
  void add_fill(CppFill::Type type, const CppBlockAt& callable, TokenAt at, std::size_t last,
                std::set<std::string_view>& values);
  void add_place(const CppBlockAt& callable, TokenAt name, std::set<std::string_view>& values);
  bool add_context(const CppBlockAt& callable, const CppFile& file, TokenRange statement, std::size_t mark,
                   const std::set<std::string_view>& values);
  void add_capture(const CppFile& file, TokenRange place, std::string_view type);
  void follow_result(const CppBlockAt& lambda);
  void follow_streams(const CppBlockAt& callable, const CppFile& file, TokenRange statement,
                      std::set<std::string_view>& values);
  void follow_assignment(const CppBlockAt& callable, const CppFile& file, TokenRange statement, std::size_t mark,
                         std::set<std::string_view>& values);
  void follow_own(const CppFile& file, std::size_t method, const std::set<std::string_view>& values, int depth);
  void follow_call(const CppFile& file, std::size_t called, const std::set<std::string_view>& values, bool is_origin,
                   int depth);

  [[nodiscard]] TokenAt object_made_here(const CppBlockAt& callable, const TokenAt& use, std::size_t first) const;
  [[nodiscard]] std::optional<CppContainer> lender_of(const CppContainer& parameter);

  const CppNames& names_;
  std::vector<CppFill> fills_;
  std::set<CppBlockAt> running_;                             ///< what is followed for now, and its callers
  std::map<CppBlockAt, std::set<std::string_view>> handed_;  ///< what variables of a caller got by a call
  bool is_thrown_ = false;                                   ///< within an exception that nothing has caught yet
};

}  // namespace stepleak
