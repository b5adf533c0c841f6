// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// No include guard: this file is compiled as a main file, where GCC warns about `#pragma once`.
#include <torch/torch.h>
