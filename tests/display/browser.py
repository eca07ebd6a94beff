"""A real browser for tests of pages: chromium by its driver, over the WebDriver protocol with the standard library alone."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

__all__ = ["Browser", "needs_browser"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="there is no chromium with its driver (Debian: chromium, chromium-driver)"
)


class Browser:
    """A browser window without a screen.

    Parameters
    ----------
    width, height : the size of the page in pixels.
    dark : whether the reader prefers dark colors.
    """

    def __init__(self, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        assert CHROMIUM is not None
        assert DRIVER is not None
        self.process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = f"http://127.0.0.1:{self._port()}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        arguments += ["--force-dark-mode"] if dark else []
        options = {
            "binary": CHROMIUM,
            "args": arguments,
            "mobileEmulation": {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 1.0, "mobile": False}},
        }
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = ""
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    def _port(self) -> int:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "started successfully on port" in line:
                return int(line.rpartition("port ")[2].rstrip(" .\n"))
        raise AssertionError("chromedriver did not start")

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a command of the protocol and return its value."""
        path = f"/session/{self.session}{path}" if self.session else path
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with self.opener.open(request, timeout=600) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def open(self, path: Path, fragment: str = "") -> None:
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": path.as_uri() + (f"#{fragment}" if fragment else "")})

    def run(self, script: str, *arguments: object) -> Any:
        """Return the value of a script of the form "return ..."."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str, times: int = 1000) -> None:
        """Ask again and again, with pauses, until an expression is true."""
        for _ in range(times):
            if self.run(f"return Boolean({condition})"):
                return
            time.sleep(0.05)
        raise AssertionError(f"it did not become true: {condition}")

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as on a keyboard."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def messages(self) -> list[str]:
        """Return the messages on the console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Return the addresses that were requested since the last call."""
        entries = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        sent = [entry["params"]["request"]["url"] for entry in entries if entry["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if url != "about:blank"]

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """Write a picture of the page, the whole length of it unless said otherwise."""
        if whole:
            size = {"captureBeyondViewport": True, "format": "png"}
            data = self.call("POST", "/goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": size})["data"]
        else:
            data = self.call("GET", "/screenshot")
        path.write_bytes(base64.b64decode(data))

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.communicate()
