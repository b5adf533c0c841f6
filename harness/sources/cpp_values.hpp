// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "harness/sources/cpp_container.hpp"
#include "harness/sources/cpp_file.hpp"

// What the tokens of an expression or a statement say of values: which names it reads, what it assigns to, and what it
// keeps. Pure functions over one file.
namespace stepleak {

/// Whether a variable of these names, or a member of this object, stands in a range.
[[nodiscard]] bool mentions(const CppFile& file, TokenRange range, const std::set<std::string_view>& values);

/// "kept" of "const std::vector<at::Tensor>& kept = {}"; empty where it has none.
[[nodiscard]] std::string_view name_of_parameter(const CppFile& file, TokenRange parameter);

/// What stands between a call's parentheses, by the opening one.
[[nodiscard]] TokenRange arguments_of(const CppFile& file, std::size_t open);

/// "net" of "net->on_forward", "layer->weight" and "net" alone: what a name at the end of a path begins with.
[[nodiscard]] std::size_t begin_of_path(const CppFile& file, std::size_t name);

/// What a path begins with: "batch" of "batch.lists[i]", by its last token. The same where it is no such path; 0 where
/// it leads through a pointer.
[[nodiscard]] std::size_t object_of_path(const CppFile& file, std::size_t last);

/// "lists" of "batch.lists[i]", "batch.lists.back()" and "(*batch.lists)", by the last token.
[[nodiscard]] std::size_t name_of_container(const CppFile& file, std::size_t last);

/// Whether a value, by the token that names it, is given a lambda that holds it.
[[nodiscard]] bool is_given_itself(const CppFile& file, std::size_t name, TokenRange given,
                                   const std::set<std::string_view>& values);

/// The last tokens of what "std::tie(a, state.b)" ties, by the parenthesis that closes it; empty where it is none.
[[nodiscard]] std::vector<std::size_t> tied_by(const CppFile& file, std::size_t close);

/// Whether something in a range makes an object that a pointer leads to: "new Node", "std::make_shared<Node>()".
[[nodiscard]] bool makes_object(const CppFile& file, TokenRange range);

/// What stands before the "=" of "auto [a, b] = f()", of "std::tie(a, b) = f()" and of "const auto loss = f()".
[[nodiscard]] std::vector<std::string_view> targets_of(const CppFile& file, TokenRange left);

/// Whether something in a range gives of a tensor what does not keep it: "loss.item()", "x.detach()".
[[nodiscard]] bool lets_go(const CppFile& file, TokenRange range);

/// The "=" of a statement, not one in parentheses; its end where there is none.
[[nodiscard]] std::size_t mark_of_assignment(const CppFile& file, TokenRange statement);

/// Whether a function returns a variable as it is.
[[nodiscard]] bool is_returned_by(const CppFile& file, const CppBlock& callable, std::string_view name);

/// Whether a method is given its own object, by the method's name: "order.splice(order.begin(), order, found)", which
/// moves what was used newest, and neither takes out nor adds.
[[nodiscard]] bool is_move_within(const CppFile& file, std::size_t method);

/// Whether an assignment to a name keeps what it had: "sum = sum + x", but not "hidden = hidden.detach()". Through
/// other variables of the function, too. Of a member of an object, "state.hidden", what that has. `is_whole`: whether
/// it has all of that in it, as "state = Belief{mean, state}" does, which keeps the states before also where no graph
/// does.
[[nodiscard]] bool is_made_of_itself(const TokenAt& name, bool is_whole = false);

}  // namespace stepleak
