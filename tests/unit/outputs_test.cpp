// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/outputs.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

TEST(OwnOutputTest, KnowsWhatStepleakWrites) {
  for (const auto* beginning : {"{\n  \"schema\": 1", "[\n{\n  \"schema\"", "[]\n", "{}", "<?xml version=\"1.0\"?>",
                                "<!doctype html>", "<!DOCTYPE html>\n<html>", "\x1f\x8b\x08"}) {
    EXPECT_TRUE(begins_as_output(beginning)) << beginning;
  }
}

TEST(OwnOutputTest, KnowsWhatItDoesNot) {
  for (const auto* beginning :
       {"#pragma once\n", "all: stepleak\n", "[tool.stepleak]\n", "{{ template }}", "{ return 1; }", "[1, 2]", "[", "{",
        "project(x)", "<html>", "<!-- x -->", "on: push\n", "what I saw", "\x1f", "PK\x03\x04", "   \n"}) {
    EXPECT_FALSE(begins_as_output(beginning)) << beginning;
  }
}

}  // namespace
}  // namespace stepleak
