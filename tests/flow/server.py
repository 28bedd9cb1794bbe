"""A Prefect server for tests that can be restarted on its database, and a webhook that it calls."""

import json
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from flows.server import copy_template, free_port, guarded_server, wait_until_healthy


class Server:
    """A server that lives in a folder; `address` is its API's, before and after a restart."""

    def __init__(self, home: Path) -> None:
        self.home, self._port = home, free_port()
        copy_template(home)
        self._running = ExitStack()
        self.address = self._start()

    def _start(self) -> str:
        address = self._running.enter_context(guarded_server(self.home, self._port))
        wait_until_healthy(address)
        return address

    def restart(self) -> None:
        """End it as a machine does that loses power, and start it on the same database."""
        self._running.close()
        self._start()

    def close(self) -> None:
        self._running.close()


class Hook:
    """A webhook on loopback; `calls` holds the documents it was sent, with the time of each."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.calls.append(document | {"at": datetime.now(UTC)})
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/alert"

    def named(self, state: str) -> list[dict[str, Any]]:
        return [call for call in self.calls if call["state"] == state]

    def __enter__(self) -> "Hook":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
