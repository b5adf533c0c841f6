# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: a call of Classifier
# kind: detached_activation growth attached_activation
# holder: answers
# default
"""A server: no optimizer, a request a call, and a log of answers that still live on the device."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.layers(x).softmax(-1)


class Server:
    def __init__(self):
        self.model = Classifier().eval()
        self.answers = []

    @torch.inference_mode()
    def handle(self, request):
        answer = self.model(torch.full((1, 16), float(request)))
        self.answers.append((request, answer))  # the leak
        return int(answer.argmax())


server = Server()
for request in range(200):
    server.handle(request)
