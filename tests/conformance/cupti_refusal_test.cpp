// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What `stepleak doctor` and the note of a result say where CUPTI gives no subscription. Needs CUPTI's header alone.

#include "harness/probes/cuda/cupti_refusal.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

TEST(CuptiRefusalTest, NamesTheRightsThatAreMissingAndHowToGetThem) {
  const auto text = cupti_refusal(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
  EXPECT_NE(text.find("lets administrators alone profile (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)"), std::string::npos);
  EXPECT_NE(text.find("--cap-add SYS_ADMIN"), std::string::npos);
  EXPECT_NE(text.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
}

TEST(CuptiRefusalTest, GivesAnotherErrorItsNameAndNoRemedyThatIsNotOne) {
  EXPECT_EQ(cupti_refusal(CUPTI_ERROR_NOT_INITIALIZED, "", "CUPTI_ERROR_NOT_INITIALIZED"),
            "CUPTI refused a subscription (CUPTI_ERROR_NOT_INITIALIZED, error 15)");
}

TEST(CuptiRefusalTest, NamesTheHolderWhereCuptiDoes) {
  constexpr auto kTaken = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_EQ(cupti_refusal(kTaken, "Kineto", ""), "Kineto holds CUPTI's only subscription: run without it");
  for (const auto* unnamed : {"", "CUPTI for <not provided>"}) {
    EXPECT_EQ(cupti_refusal(kTaken, unnamed, "").find("another tool (torch.profiler"), 0U) << unnamed;
  }
}

}  // namespace
}  // namespace stepleak
