"""Debian's Chromium, headless, driven over a pipe by the Chrome DevTools Protocol with the standard library alone.

    with Browser() as browser:
        page = browser.page()
        page.open("http://127.0.0.1:6006/?token=...")
        page.wait("document.querySelector('tbody tr')")
        page.click(page.role("button", "Compare"))

What a page does wrong is kept as it happens: console errors, exceptions nobody caught, answers of 400 and above,
requests that failed or went anywhere but to this machine, breaches of the content policy. page.check() fails with
them, and so does closing a page whose problems nobody looked at; page.allow(pattern) says which are part of a test.
Every wait ends: a test fails, it never hangs, and no process of the browser outlives it.
"""
import base64
import contextlib
import fcntl
import json
import os
import re
import select
import shutil
import signal
import tempfile
import time
import urllib.parse

SKIPPED = 77
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
PATIENCE = 60.0  # seconds that anything may take on a busy machine: a bound, nothing waits for its end

# Nothing but this machine is reached: other names do not resolve, and the browser's own services are off.
FLAGS = """
    --headless=new --remote-debugging-pipe --no-first-run --no-default-browser-check --disable-gpu
    --disable-background-networking --disable-component-update --disable-sync --disable-domain-reliability
    --disable-default-apps --disable-extensions --disable-breakpad --disable-crash-reporter --no-pings
    --disable-client-side-phishing-detection --disable-field-trial-config --metrics-recording-only
    --disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,DialMediaRouteProvider
    --disable-dev-shm-usage --mute-audio --hide-scrollbars --force-color-profile=srgb --password-store=basic
    --js-flags=--expose-gc --no-proxy-server
""".split()
RESOLVER = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]"

KEYS = {
    "Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "Escape": ("Escape", 27, ""), "Space": ("Space", 32, " "),
    "Backspace": ("Backspace", 8, ""), "Delete": ("Delete", 46, ""), "Home": ("Home", 36, ""), "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""), "PageDown": ("PageDown", 34, ""), "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""),
}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


class Failure(AssertionError):
    """What a test of a page found wrong."""


def program():
    """Where Chromium is; None where there is none."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


class Pipe:
    """The browser's process and the two pipes of the protocol: NUL-ended JSON, answers and events mixed."""

    def __init__(self, flags):
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()
        # Numbers that the child's 3 and 4 cannot fall on.
        child = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 32) for fd in (to_read, from_write)]
        self.log = tempfile.TemporaryFile()
        null = os.open(os.devnull, os.O_RDWR)
        self.pid = os.posix_spawn(
            program(), [program()] + flags, dict(os.environ),
            setsid=True,
            file_actions=[(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1),
                          (os.POSIX_SPAWN_DUP2, self.log.fileno(), 2),
                          (os.POSIX_SPAWN_DUP2, child[0], 3), (os.POSIX_SPAWN_DUP2, child[1], 4)])
        for fd in (to_read, from_write, null, *child):
            os.close(fd)
        self.rest = b""

    def send(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]

    def receive(self, seconds):
        """The messages that are there, at least one unless none comes in that time."""
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.come], [], [], left)[0]:
                return []
            data = os.read(self.come, 1 << 20)
            if not data:
                self.log.seek(0)
                said = self.log.read().decode(errors="replace")[-2000:]
                raise Failure(f"the browser ended by itself:\n{said}")
            self.rest += data
        *whole, self.rest = self.rest.split(b"\0")
        return [json.loads(m) for m in whole]

    def end(self, seconds=5.0):
        """The whole group: first by its pipe, then by force."""
        os.close(self.to)
        until = time.monotonic() + seconds
        gone = False
        while not gone and time.monotonic() < until:
            gone = os.waitpid(self.pid, os.WNOHANG)[0] != 0
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not gone:
            os.waitpid(self.pid, 0)
        os.close(self.come)
        self.log.close()


class Browser:
    """One browser with a profile of its own, which goes with it."""

    def __init__(self, flags=()):
        if program() is None:
            raise Failure("there is no chromium here (scripts/deps.sh installs it)")
        self.profile = tempfile.mkdtemp(prefix="regimen-browser-")
        self.downloads = os.path.join(self.profile, "downloads")
        os.mkdir(self.downloads)
        all_flags = FLAGS + [RESOLVER, f"--user-data-dir={self.profile}/profile", *flags]
        if os.geteuid() == 0:  # Chromium's sandbox refuses root
            all_flags.append("--no-sandbox")
        self.pipe = Pipe(all_flags)
        self.number = 0
        self.answers = {}
        self.pages = {}
        try:
            self.ask("Browser.getVersion")
            self.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()

    def ask(self, method, session=None, seconds=PATIENCE, **params):
        """A command and its answer; events that come meanwhile go to their pages."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.pipe.send(message)
        end = time.monotonic() + seconds
        while number not in self.answers:
            left = end - time.monotonic()
            if left <= 0:
                raise Failure(f"{method} is not answered within {seconds:g} s")
            self.pump(left)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failure(f"{method}: {answer['error'].get('message')} {answer['error'].get('data', '')}")
        return answer["result"]

    def pump(self, seconds):
        for message in self.pipe.receive(max(seconds, 0)):
            if "id" in message:
                self.answers[message["id"]] = message
                continue
            page = self.pages.get(message.get("sessionId"))
            if page:
                page.event(message["method"], message["params"])

    def page(self, window=True, **how):
        """A new tab, in a window of its own unless told: a tab behind another is hidden. how: as Page.emulate()."""
        target = self.ask("Target.createTarget", url="about:blank", newWindow=window)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, target, session)
        page.begin(how)
        return page

    def version(self):
        return self.ask("Browser.getVersion")["product"]

    def cookies(self):
        return self.ask("Storage.getCookies")["cookies"]

    def forget(self):
        """No cookie from here on."""
        self.ask("Storage.clearCookies")

    def downloaded(self, seconds=PATIENCE):
        """The next finished download as (name, bytes); it is taken away."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            names = os.listdir(self.downloads)
            done = [n for n in names if not n.endswith(".crdownload") and not n.startswith(".")]
            if done and len(done) == len(names):
                path = os.path.join(self.downloads, done[0])
                with open(path, "rb") as file:
                    data = file.read()
                os.unlink(path)
                return done[0], data
            self.pump(0.05)
        raise Failure(f"no download within {seconds:g} s")

    def close(self):
        self.pipe.end()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab: what a user does to it, what it says, what it cost."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session
        self.problems = []   # what is wrong, in words
        self.allowed = []
        self.warnings = []
        self.requests = {}   # id -> {url, method, status, start, end (seconds), bytes, type}
        self.loads = 0
        self.touch = False
        self.dialogs = []
        self.answer_dialogs = True
        self.mouse = (0, 0)

    def ask(self, method, seconds=PATIENCE, **params):
        return self.browser.ask(method, self.session, seconds, **params)

    def begin(self, how):
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Performance", "Accessibility"):
            self.ask(domain + ".enable")
        # A breach of the content policy is told by the page itself too: with what was blocked and where.
        self.ask("Page.addScriptToEvaluateOnNewDocument", source="""
            document.addEventListener('securitypolicyviolation', e => console.error(
                'content policy: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile + ':' + e.lineNumber));
        """)
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)  # the window that has the keyboard, each of them
        self.emulate(**how)

    # What happens -------------------------------------------------------------------------------------------

    def event(self, method, params):
        name = "on_" + method.replace(".", "_")
        handler = getattr(self, name, None)
        if handler:
            handler(params)

    def problem(self, text):
        if not any(re.search(p, text) for p in self.allowed):
            self.problems.append(text)

    def on_Runtime_exceptionThrown(self, params):
        details = params["exceptionDetails"]
        what = details.get("exception", {}).get("description") or details.get("text")
        self.problem(f"exception: {what} ({details.get('url', '')}:{details.get('lineNumber', 0) + 1})")

    def on_Runtime_consoleAPICalled(self, params):
        text = " ".join(str(a.get("value", a.get("description", ""))) for a in params["args"])
        if params["type"] in ("error", "assert"):
            self.problem("console: " + text)
        elif params["type"] == "warning":
            self.warnings.append(text)

    def on_Log_entryAdded(self, params):
        entry = params["entry"]
        if entry["level"] == "error":
            self.problem(f"{entry['source']}: {entry['text']} {entry.get('url', '')}")
        elif entry["level"] == "warning":
            self.warnings.append(entry["text"])

    def on_Network_requestWillBeSent(self, params):
        request = params["request"]
        self.requests[params["requestId"]] = {
            "url": request["url"], "method": request["method"], "type": params.get("type"), "status": None,
            "body": request.get("postData"), "start": params["timestamp"], "end": None, "bytes": 0,
            "headers": request["headers"], "document": params["loaderId"]}
        address = urllib.parse.urlsplit(request["url"])
        if address.scheme not in ("data", "blob") and address.hostname not in ("127.0.0.1", "localhost", "::1"):
            self.problem(f"a request that leaves this machine: {request['url']}")

    def on_Network_responseReceived(self, params):
        got = self.requests.get(params["requestId"])
        if got:
            got["status"] = params["response"]["status"]
            got["answer"] = params["response"]["headers"]

    def on_Network_loadingFinished(self, params):
        got = self.requests.get(params["requestId"])
        if got:
            got["end"], got["bytes"] = params["timestamp"], params["encodedDataLength"]

    def on_Network_loadingFailed(self, params):
        got = self.requests.get(params["requestId"], {"url": "?", "method": "?"})
        got["end"] = params["timestamp"]
        if not params.get("canceled"):
            self.problem(f"{got['method']} {got['url']}: {params['errorText']}")

    def on_Page_frameNavigated(self, params):
        """What the document before this one still waited for is waited for no longer."""
        if not params["frame"].get("parentId"):
            for got in self.requests.values():
                if got["end"] is None and got["document"] != params["frame"]["loaderId"]:
                    got["end"] = got["start"]

    def on_Page_loadEventFired(self, params):
        self.loads += 1

    def on_Page_javascriptDialogOpening(self, params):
        self.dialogs.append(params["message"])
        self.browser.number += 1
        self.browser.pipe.send({"id": self.browser.number, "sessionId": self.session,
                                "method": "Page.handleJavaScriptDialog", "params": {"accept": self.answer_dialogs}})

    def on_Inspector_targetCrashed(self, params):
        raise Failure("the tab crashed")

    # Where ---------------------------------------------------------------------------------------------------

    def open(self, url, seconds=PATIENCE):
        """Go there and wait for its load event."""
        before = self.loads
        failed = self.ask("Page.navigate", seconds, url=url).get("errorText")
        if failed and failed != "net::ERR_HTTP_RESPONSE_CODE_FAILURE":
            raise Failure(f"{url}: {failed}")
        self.until(lambda: self.loads > before, f"{url} is not loaded", seconds)
        return self

    def reload(self, seconds=PATIENCE):
        before = self.loads
        self.ask("Page.reload")
        self.until(lambda: self.loads > before, "the page is not loaded again", seconds)

    def back(self, by=-1):
        """As the browser's buttons: one step back, by=1 forward."""
        history = self.ask("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] + by]
        self.ask("Page.navigateToHistoryEntry", entryId=entry["id"])
        self.wait(f"location.href === {json.dumps(entry['url'])}", what=f"history does not go to {entry['url']}")

    def forward(self):
        self.back(1)

    @property
    def url(self):
        return self.js("location.href")

    # Script --------------------------------------------------------------------------------------------------

    def js(self, expression, seconds=PATIENCE):
        """The value of an expression; of a promise what it comes to."""
        answer = self.ask("Runtime.evaluate", seconds, expression=expression, awaitPromise=True, returnByValue=True,
                          userGesture=True, allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(f"{expression[:200]}: {details.get('exception', {}).get('description') or details['text']}")
        return answer["result"].get("value")

    def until(self, done, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                raise Failure(what + f" within {seconds:g} s" + self.told())
            self.browser.pump(min(left, 0.05))

    def pause(self, seconds):
        """Let it be; what happens meanwhile is taken in."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.browser.pump(end - time.monotonic())

    def happened(self, seconds):
        """Whether anything is asked for in that time."""
        before = len(self.requests)
        self.pause(seconds)
        return len(self.requests) > before

    def wait(self, condition, seconds=PATIENCE, what=None):
        """Until the expression is true in the page, or an element; its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.js(f"Promise.resolve({condition}).then(v => v instanceof Node ? true : v)", max(end - time.monotonic(), 0.5))
                if value:
                    return value
                wrong = ""
            except Failure as error:  # a page between two documents has no element yet
                wrong = f" ({error})"
            if time.monotonic() > end:
                raise Failure((what or f"not true: {condition[:300]}") + f" within {seconds:g} s{wrong}" + self.told())
            self.browser.pump(0.03)

    def wait_address(self, part):
        """Until the address has it: a page writes what it shows there a few times a second, not at once."""
        self.wait(f"location.search.includes({json.dumps(part)})", what=f"the address has no {part}: {self.url}")

    def told(self):
        return "".join("\n    " + p for p in self.problems[:8])

    def title(self):
        return self.js("document.title")

    def text(self, selector="body"):
        """What is to be read there; None where there is nothing."""
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def count(self, selector):
        return self.js(f"document.querySelectorAll({json.dumps(selector)}).length")

    # Elements: a CSS selector, or what role() found in the accessibility tree. ----------------------------------

    def roles(self, role, name=None, within=None):
        """What a screen reader finds: the nodes of this role, of this name (text, or a compiled pattern)."""
        root = self.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
        if within:
            root = self.ask("DOM.querySelector", nodeId=root, selector=within)["nodeId"]
            if not root:
                return []
        nodes = self.ask("Accessibility.queryAXTree", nodeId=root, role=role)["nodes"]
        found = []
        for node in nodes:
            if node.get("ignored"):
                continue
            called = node.get("name", {}).get("value", "")
            if name is None or (name.search(called) if isinstance(name, re.Pattern) else called.strip() == name):
                found.append({"backend": node["backendDOMNodeId"], "name": called, "role": role,
                              **{p["name"]: p["value"].get("value") for p in node.get("properties", [])}})
        return found

    def role(self, role, name=None, within=None, seconds=PATIENCE):
        """The first of these, waited for."""
        found = []

        def look():
            with contextlib.suppress(Failure):
                found[:] = self.roles(role, name, within)
            return found

        called = name.pattern if isinstance(name, re.Pattern) else name
        self.until(look, f"there is no {role} called '{called}'", seconds)
        found[0]["again"] = (role, name, within, seconds)
        return found[0]

    def standing(self, where, ask):
        """ask(where); where the page has drawn that part again meanwhile, of what stands in its place now."""
        while True:
            try:
                return ask(where)
            except Failure as failure:
                if "detached" not in str(failure) or not isinstance(where, dict) or "again" not in where:
                    raise
                where.update(self.role(*where["again"]))

    def backend(self, where, seconds=PATIENCE):
        if isinstance(where, dict):
            return where["backend"]
        self.wait(f"document.querySelector({json.dumps(where)}) !== null", seconds, f"there is no {where}")
        root = self.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=where)["nodeId"]
        return self.ask("DOM.describeNode", nodeId=node)["node"]["backendNodeId"]

    def call(self, where, function):
        """function(element) as JavaScript text: "e => e.value"."""
        remote = self.ask("DOM.resolveNode", backendNodeId=self.backend(where))["object"]["objectId"]
        answer = self.ask("Runtime.callFunctionOn", objectId=remote, returnByValue=True, awaitPromise=True,
                          functionDeclaration=f"function() {{ return ({function})(this); }}")
        if "exceptionDetails" in answer:
            raise Failure(f"{function}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def box(self, where):
        """(x, y, width, height) in the window, after it is scrolled into sight."""
        def measure(element):
            self.ask("DOM.scrollIntoViewIfNeeded", backendNodeId=self.backend(element))
            found = self.call(element, "e => { const r = e.getBoundingClientRect(); return e.isConnected && [r.x, r.y, r.width, r.height]; }")
            if not found:
                raise Failure(f"{element} is detached")
            return found

        box = self.standing(where, measure)
        if box[2] <= 0 or box[3] <= 0:
            raise Failure(f"{where} has no size: a user cannot see it")
        return box

    def centre(self, where, seconds=2):
        """Once nothing lies over it: what came before it may still move it."""
        end = time.monotonic() + seconds
        while True:
            x, y, width, height = self.box(where)
            point = (x + width / 2, y + height / 2)
            over = self.call(where, f"""e => {{
                const top = document.elementFromPoint({point[0]}, {point[1]});
                return !top || e.contains(top) || top.contains(e) || top.closest('label')?.control === e
                    ? '' : top.outerHTML.slice(0, 120); }}""")
            if not over:
                return point
            if time.monotonic() > end:
                raise Failure(f"{where} cannot be clicked: {over} lies over it")
            self.browser.pump(0.05)

    # What a user does -----------------------------------------------------------------------------------------

    def mouse_event(self, kind, x, y, **more):
        self.mouse = (x, y)
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, where, at=None):
        """The pointer over it; at: a share of its width and height, (0.5, 0.5) unless told."""
        x, y, width, height = self.box(where)
        across, down = at or (0.5, 0.5)
        self.mouse_event("mouseMoved", x + width * across, y + height * down)

    def click(self, where, count=1, modifiers=()):
        x, y = self.centre(where)
        if self.touch:
            self.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            return
        bits = sum(MODIFIERS[m] for m in modifiers)
        self.mouse_event("mouseMoved", x, y, modifiers=bits)
        for i in range(1, count + 1):
            self.mouse_event("mousePressed", x, y, button="left", buttons=1, clickCount=i, modifiers=bits)
            self.mouse_event("mouseReleased", x, y, button="left", clickCount=i, modifiers=bits)

    def drag(self, where, begin, end, steps=8):
        """With the left button from one share of its width and height to another: a brush, a zoom."""
        x, y, width, height = self.box(where)
        points = [(x + width * (begin[0] + (end[0] - begin[0]) * i / steps),
                   y + height * (begin[1] + (end[1] - begin[1]) * i / steps)) for i in range(steps + 1)]
        self.mouse_event("mouseMoved", *points[0])
        self.mouse_event("mousePressed", *points[0], button="left", buttons=1, clickCount=1)
        for point in points[1:]:
            self.mouse_event("mouseMoved", *point, button="left", buttons=1)
        self.mouse_event("mouseReleased", *points[-1], button="left", clickCount=1)

    def wheel(self, where, down):
        x, y = self.centre(where)
        self.mouse_event("mouseWheel", x, y, deltaX=0, deltaY=down)

    def press(self, *chords):
        """Keys by their names, with what is held: "Control+a", "ArrowDown", "Enter", "j"."""
        for chord in chords:
            *held, key = chord.split("+") if chord != "+" else ["+"]
            bits = sum(MODIFIERS[h] for h in held)
            if key in KEYS:
                code, number, text = KEYS[key]
                name = " " if key == "Space" else key
            else:
                upper = key.upper()
                letter = upper.isascii() and upper.isalpha()
                code = "Key" + upper if letter else "Digit" + key if key.isdigit() else ""
                number, text, name = (ord(upper) if upper.isascii() and upper.isalnum() else 0), key, key
            if bits & 7:
                text = ""
            extra = {"commands": ["selectAll"]} if chord == "Control+a" else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=name, code=code,
                     windowsVirtualKeyCode=number, modifiers=bits, text=text, **extra)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=name, code=code, windowsVirtualKeyCode=number,
                     modifiers=bits)

    def type(self, where, text, clear=True):
        """Into a field, key by key; what was there goes first unless told."""
        self.click(where)
        self.call(where, "e => e.focus()")
        if clear:
            self.press("Control+a", "Backspace")
        for letter in text:
            self.press("Enter" if letter == "\n" else "Space" if letter == " " else letter)

    def paste(self, where, text, clear=True):
        """As type(), all at once: long texts."""
        self.call(where, "e => e.focus()")
        if clear:
            self.press("Control+a", "Backspace")
        self.ask("Input.insertText", text=text)

    def select(self, where, value):
        """A choice of a <select>, by its value or its words (the list itself is the system's, out of a page's reach)."""
        found = self.call(where, f"""e => {{
            const want = {json.dumps(value)};
            const option = [...e.options].find(o => o.value === want || o.text.trim() === want);
            if (!option) return [...e.options].map(o => o.value + ' (' + o.text + ')').join(', ');
            e.focus(); e.value = option.value;
            e.dispatchEvent(new Event('input', {{bubbles: true}}));
            e.dispatchEvent(new Event('change', {{bubbles: true}}));
            return null; }}""")
        if found is not None:
            raise Failure(f"{where} has no choice '{value}' among {found}")

    def focused(self):
        """What has the keyboard: tag, id, name for readers."""
        return self.js("""(() => { const e = document.activeElement; return e && e !== document.body ?
            {tag: e.tagName.toLowerCase(), id: e.id, text: (e.getAttribute('aria-label') || e.innerText || '').trim()} : null;
            })()""")

    # How it is looked at ---------------------------------------------------------------------------------------

    def emulate(self, phone=False, dark=None, still=True, width=None, height=None):
        """phone: 390 x 844 with touch; dark: the system's wish, None for none; still: reduced motion."""
        size = dict(PHONE if phone else DESK)
        size["width"], size["height"] = width or size["width"], height or size["height"]
        self.touch = phone
        self.ask("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, mobile=phone, **size)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=phone)
        features = [{"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]
        if dark is not None:
            features.append({"name": "prefers-color-scheme", "value": "dark" if dark else "light"})
        self.ask("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path, clip=None, whole=False):
        """A PNG; clip: (x, y, width, height), whole: beyond the window."""
        how = {"format": "png", "captureBeyondViewport": whole}
        if whole and clip is None:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            clip = (0, 0, size["width"], size["height"])
        if clip:
            how["clip"] = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", **how)["data"]))

    # What it costs ----------------------------------------------------------------------------------------------

    def metrics(self):
        """After a collection of garbage: bytes of the script's heap, nodes and listeners of the document."""
        for _ in range(2):
            self.ask("HeapProfiler.collectGarbage")
        values = {m["name"]: m["value"] for m in self.ask("Performance.getMetrics")["metrics"]}
        return {"heap": int(values["JSHeapUsedSize"]), "nodes": int(values["Nodes"]),
                "listeners": int(values["JSEventListeners"])}

    def asked(self, pattern):
        """The requests so far whose method and address match, oldest first."""
        return [r for r in self.requests.values() if re.search(pattern, r["method"] + " " + r["url"])]

    # What is wrong ----------------------------------------------------------------------------------------------

    def allow(self, *patterns):
        """Problems like these belong to the test; those that were told already go too."""
        self.allowed += patterns
        self.problems = [p for p in self.problems if not any(re.search(a, p) for a in patterns)]

    def check(self):
        self.browser.pump(0.01)
        problems, self.problems = self.problems, []
        if problems:
            raise Failure("the page says:" + "".join("\n    " + p for p in problems))

    def close(self, check=True):
        try:
            if check:
                self.check()
        finally:
            self.browser.pages.pop(self.session, None)
            with contextlib.suppress(Failure):
                self.browser.ask("Target.closeTarget", targetId=self.target)
