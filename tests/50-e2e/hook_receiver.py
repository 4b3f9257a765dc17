"""A receiver of Standard Webhooks for notify.sh, independent of what it tests: verifies with hmac, answers
204 or 401, and writes a line per message: path, verdict, id, type. `fail` in its folder: 503 to all."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

folder = sys.argv[1]
with open(os.path.join(folder, "secret")) as f:
    key = base64.b64decode(f.read().strip()[len("whsec_"):])


def judge(headers, body):
    sent = headers.get("webhook-id", "") + "." + headers.get("webhook-timestamp", "") + "."
    want = base64.b64encode(hmac.new(key, sent.encode() + body, hashlib.sha256).digest()).decode()
    if abs(time.time() - int(headers.get("webhook-timestamp", "0"))) > 300:
        return "old"
    given = headers.get("webhook-signature", "").split(" ")
    return "good" if any(hmac.compare_digest(g, "v1," + want) for g in given) else "bad"


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        verdict = judge(self.headers, body) if self.path == "/signed" else "chat"
        down = os.path.exists(os.path.join(folder, "fail"))
        with open(os.path.join(folder, "got"), "a") as f:
            f.write("%s %s %s %s %s\n" % (self.path, "down" if down else verdict,
                                          self.headers.get("webhook-id", "-"),
                                          message.get("type", "-"), body.decode()))
        self.send_response(503 if down else 401 if verdict in ("bad", "old") else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
with open(os.path.join(folder, "port.new"), "w") as f:
    f.write(str(server.server_port))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
