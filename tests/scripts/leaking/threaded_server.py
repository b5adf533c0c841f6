# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: a call of Sequential
# kind: detached_activation
# holder: scores
"""A server with a thread for each request, which keeps the scores of all."""

import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
scores = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        with torch.inference_mode():
            score = model(torch.full((1, 4), float(len(self.path))))
        scores.append(score)  # the leak
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(score.argmax().item()).encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for request in range(600):
    urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{request}").read()
server.shutdown()
