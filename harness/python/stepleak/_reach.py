# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How far calls are followed through the user's sources.

What is called from more places is a helper of no one's, and what lies deeper is seldom told by its caller; beyond
these, nothing is said.
"""

MOST_CALLERS = 8
MOST_LEVELS = 4
