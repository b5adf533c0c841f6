# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Writes where it is, and waits there for a signal."""

import os
import signal
import subprocess
import time

import torch

PLACE = os.environ["WAITS_IN"]
kept = []


def here(place):
    if place == PLACE:
        with open("reached", "w") as file:
            file.write(place)
        while True:
            time.sleep(0.05)


if PLACE == "child":
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
if PLACE == "deaf child":
    deaf = {"preexec_fn": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)}
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True, **deaf)
if PLACE == "deaf":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
here("set-up")


def quick():
    torch.zeros(4)


def step(index):
    kept.append(torch.ones(10))
    if index == 3:
        here("step")
        if PLACE in ("child", "deaf child", "deaf"):
            here(PLACE)
    if index == 25:
        here("record pass")
