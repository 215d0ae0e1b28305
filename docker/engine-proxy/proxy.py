"""Filter between harness-executor and the Docker engine.

Whoever may talk to a Docker engine owns its host: one container with the host's root folder is enough. So the executor
gets this filter's socket in place of the engine's. It knows eight calls, those that sandboxes need, and refuses all others:

    GET    /_ping                           answered by the engine
    GET    /info                            processors, memory and the kernel's release, nothing else
    GET    /images/<image>/json             of the allowed images
    GET    /containers/json                 of this installation's containers, whatever the caller filters by
    POST   /containers/create               see below
    POST   /containers/<id>/attach, start, kill
    GET    /containers/<id>/json            only of a container with this installation's label
    DELETE /containers/<id>

A container is created from a body that is written here. The caller chooses the image among the allowed ones, memory,
processors, number of processes, size of /tmp within bounds, variables and the platform's own labels. Everything else is
constant, and a request that asks for anything else is refused rather than trimmed. What is forwarded is never the caller's
bytes: method, path, query and body are written anew, one request a connection.

Settings (environment): ENGINE_IMAGES (comma separated names), ENGINE_OWNER (label), ENGINE_RUNTIME (an OCI runtime that may
be asked for), ENGINE_MAX_MEMORY_MIB (4096), ENGINE_MAX_CPUS (4), ENGINE_MAX_PIDS (512), ENGINE_MAX_CONTAINERS (96),
ENGINE_SOCKET (/var/run/docker.sock), ENGINE_LISTEN (/run/engine/engine.sock). Standard library only.
"""

import http.client
import http.server
import json
import os
import re
import signal
import socket
import socketserver
import sys
import threading
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

OWNER_LABEL = "org.harnesslearning.owner"
MAX_BODY = 64 << 10
MIB = 1 << 20
ID = r"(?P<id>[A-Za-z0-9][A-Za-z0-9_.-]{0,127})"
NAME = re.compile(r"harness-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TMPFS = re.compile(r"rw,noexec,nosuid,nodev,size=(\d{1,4})m,nr_inodes=1024,uid=65534,gid=65534,mode=0700")
ULIMITS = [
    {"Name": "nofile", "Soft": 256, "Hard": 256},
    {"Name": "core", "Soft": 0, "Hard": 0},
    {"Name": "fsize", "Soft": 64 * MIB, "Hard": 64 * MIB},
]


class Refused(Exception):
    """The request is none of those that sandboxes need."""

    def __init__(self, message, status=403):
        super().__init__(message)
        self.status = status


class Settings:
    def __init__(self, environment):
        self.images = frozenset(name for name in environment.get("ENGINE_IMAGES", "").split(",") if name)
        self.owner = environment.get("ENGINE_OWNER", "")
        self.runtime = environment.get("ENGINE_RUNTIME", "")
        self.memory = int(environment.get("ENGINE_MAX_MEMORY_MIB", "4096")) * MIB
        self.cpus = float(environment.get("ENGINE_MAX_CPUS", "4"))
        self.pids = int(environment.get("ENGINE_MAX_PIDS", "512"))
        self.containers = int(environment.get("ENGINE_MAX_CONTAINERS", "96"))
        self.engine = environment.get("ENGINE_SOCKET", "/var/run/docker.sock")
        self.listen = environment.get("ENGINE_LISTEN", "/run/engine/engine.sock")
        if not self.images or not self.owner:
            raise SystemExit("ENGINE_IMAGES and ENGINE_OWNER have to be set")


def without_duplicates(pairs):
    """An object with one key twice means one thing here and another to the engine."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise Refused("a key stands twice")
    return result


def whole_number(given, name, low, high):
    value = given.get(name)
    if type(value) is not int or not low <= value <= high:
        raise Refused(f"{name} has to be a whole number from {low} to {high}")
    return value


def ulimits(host, settings):
    """The sandbox's own, and a limit on the user's processes where one is asked for."""
    given = host.get("Ulimits")
    last = given[-1] if isinstance(given, list) and len(given) == len(ULIMITS) + 1 else None
    if not isinstance(last, dict) or last.get("Name") != "nproc":
        return ULIMITS
    most = whole_number(last, "Soft", 1, settings.pids)
    return [*ULIMITS, {"Name": "nproc", "Soft": most, "Hard": most}]


def is_unset(value):
    """What says nothing to the engine. False and 0 are its defaults for all options that are not written here."""
    return value is None or value is False or value == 0 or value in ("", [], {})


def same(given, written, path):
    """Refuses what asks for something that is not written; key by key, so that the message can name it."""
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            if key in written:
                same(value, written[key], f"{path}.{key}")
            elif not is_unset(value):
                raise Refused(f"{path}.{key} can't be set")
    elif given != written or isinstance(given, bool) != isinstance(written, bool):
        raise Refused(f"{path} has to be {json.dumps(written)}")


def sandbox(body, settings):
    """The body of a create call, written anew from the few values that a caller may choose."""
    try:
        given = json.loads(body, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as e:
        raise Refused("the body is not JSON") from e
    host = given.get("HostConfig") if isinstance(given, dict) else None
    if not isinstance(host, dict):
        raise Refused("the body has no HostConfig")
    if given.get("Image") not in settings.images:
        raise Refused("this image is not allowed")
    environment = given.get("Env") or []
    if not isinstance(environment, list) or len(environment) > 16 or not all(
        isinstance(item, str) and re.fullmatch(r"[A-Z_]{1,64}=[^\0]{0,4096}", item) for item in environment
    ):
        raise Refused("Env has at most 16 plain variables")
    labels = given.get("Labels")
    if not isinstance(labels, dict) or labels.get(OWNER_LABEL) != settings.owner or not all(
        re.fullmatch(r"org\.harnesslearning\.[a-z]{1,32}", key) and isinstance(value, str) and len(value) <= 512
        for key, value in labels.items()
    ):
        raise Refused("Labels are the platform's own, with this installation's owner")
    memory = whole_number(host, "Memory", 16 * MIB, settings.memory)
    tmpfs = host.get("Tmpfs")
    size = TMPFS.fullmatch(tmpfs["/tmp"]) if isinstance(tmpfs, dict) and isinstance(tmpfs.get("/tmp"), str) else None
    if size is None or not 1 <= int(size[1]) <= 1024:
        raise Refused("Tmpfs is /tmp with the sandbox's options")
    written = {
        "Image": given["Image"],
        "User": "65534:65534",
        "Hostname": "sandbox",
        "NetworkDisabled": True,
        "Env": environment,
        "Labels": labels,
        "StopTimeout": 1,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "HostConfig": {
            "NetworkMode": "none",
            "IpcMode": "none",
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "PidsLimit": whole_number(host, "PidsLimit", 1, settings.pids),
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": whole_number(host, "NanoCpus", 10_000_000, int(settings.cpus * 1e9)),
            "Ulimits": ulimits(host, settings),
            "Tmpfs": {"/tmp": size[0]},
            "LogConfig": {"Type": "none"},
        },
    }
    if settings.runtime and host.get("Runtime") == settings.runtime:
        written["HostConfig"]["Runtime"] = settings.runtime
    same(given, written, "body")
    return json.dumps(written).encode()


class EngineConnection(http.client.HTTPConnection):
    """A connection of the proxy's own to the engine."""

    def __init__(self, path):
        super().__init__("engine", timeout=30)
        self.path = path

    def connect(self):
        self.sock = connect(self.path)
        self.sock.settimeout(self.timeout)


def connect(path):
    upstream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        upstream.connect(path)
    except OSError:
        upstream.close()
        raise
    return upstream


def ask(settings, path):
    """Status and JSON of a GET that the proxy makes for itself."""
    connection = EngineConnection(settings.engine)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def owned(settings, container):
    """The full id of a container, if this installation made it."""
    status, found = ask(settings, f"/containers/{quote(container, safe='')}/json")
    if status == 404:
        raise Refused("No such container: " + container, 404)
    if status != 200:
        raise Refused("the engine can't tell whose container this is", 503)
    labels = found.get("Config", {}).get("Labels") or {}
    if labels.get(OWNER_LABEL) != settings.owner:
        # As if it did not exist: what else runs on the host is nobody's business.
        raise Refused("No such container: " + container, 404)
    return found["Id"]


def own_filter(settings):
    return urlencode({"all": "1", "filters": json.dumps({"label": [f"{OWNER_LABEL}={settings.owner}"]})})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    settings = None

    def address_string(self):
        return "executor"

    def log_message(self, format, *arguments):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def serve(self):
        self.close_connection = True
        try:
            body = self.read_body()
            self.route(body)
        except Refused as e:
            if e.status == 403:
                print(f"refused {self.command} {self.path[:200]}: {e}", flush=True)
            self.answer(e.status, {"message": str(e)})
        except (OSError, http.client.HTTPException, ValueError) as e:
            print(f"failed {self.command} {self.path[:200]}: {e}", flush=True)
            try:
                self.answer(503, {"message": "the engine can't be reached"})
            except OSError:
                pass

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = serve

    def read_body(self):
        lengths = self.headers.get_all("Content-Length", [])
        encodings = self.headers.get_all("Transfer-Encoding", [])
        if len(lengths) > 1 or len(encodings) > 1 or (lengths and encodings):
            raise Refused("the length of the body is ambiguous", 400)
        if encodings:
            if encodings[0].strip().lower() != "chunked":
                raise Refused("unknown transfer encoding", 400)
            return self.read_chunks()
        if not lengths:
            return b""
        if not re.fullmatch(r"\d{1,9}", lengths[0]) or int(lengths[0]) > MAX_BODY:
            raise Refused("the body is too large", 413)
        return self.rfile.read(int(lengths[0]))

    def read_chunks(self):
        body = b""
        while True:
            line = self.rfile.readline(100)
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,6}\r\n", line):
                raise Refused("a malformed chunk", 400)
            size = int(line, 16)
            if len(body) + size > MAX_BODY:
                raise Refused("the body is too large", 413)
            body += self.rfile.read(size)
            if self.rfile.readline(100) != b"\r\n":
                raise Refused("a malformed chunk", 400)
            if size == 0:
                return body

    def route(self, body):
        settings = self.settings
        url = urlsplit(self.path)
        # The engine's own reading of a path: the version in front does not matter here.
        path = re.sub(r"^/v1\.\d{1,2}(?=/)", "", url.path)
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        if path == "/_ping" and self.command in ("GET", "HEAD"):
            return self.forward(self.command, "/_ping")
        if path == "/info" and self.command == "GET":
            status, info = ask(settings, "/info")
            return self.answer(status, {key: info.get(key) for key in ("NCPU", "MemTotal", "KernelVersion")})
        if path == "/containers/json" and self.command == "GET":
            return self.forward("GET", "/containers/json?" + own_filter(settings))
        if path == "/containers/create" and self.command == "POST":
            return self.create(query.get("name", ""), body)
        match = re.fullmatch(r"/images/(?P<name>[^?#]{1,255})/json", path)
        if match and self.command == "GET":
            name = unquote(match["name"])
            if name not in settings.images:
                raise Refused("No such image: " + name, 404)
            return self.forward("GET", f"/images/{quote(name, safe=':/@')}/json")
        match = re.fullmatch(f"/containers/{ID}(?P<rest>/attach|/start|/kill|/json|)", path)
        if match is None:
            raise Refused("this call is not allowed")
        call = (self.command, match["rest"])
        if call == ("POST", "/attach"):
            flags = {name: "1" for name in ("stdin", "stdout", "stderr", "stream") if query.get(name) in ("1", "true", "True")}
            return self.attach(f"/containers/{owned(settings, match['id'])}/attach?{urlencode(flags)}")
        if call == ("POST", "/start"):
            return self.forward("POST", f"/containers/{owned(settings, match['id'])}/start")
        if call == ("POST", "/kill"):
            if query.get("signal", "KILL") not in ("KILL", "SIGKILL", "9", ""):
                raise Refused("the only signal is KILL")
            return self.forward("POST", f"/containers/{owned(settings, match['id'])}/kill")
        if call == ("GET", "/json"):
            return self.forward("GET", f"/containers/{owned(settings, match['id'])}/json")
        if call == ("DELETE", ""):
            return self.forward("DELETE", f"/containers/{owned(settings, match['id'])}?force=1&v=1")
        raise Refused("this call is not allowed")

    def create(self, name, body):
        if not NAME.fullmatch(name):
            raise Refused("a sandbox is named harness-<uuid>")
        written = sandbox(body, self.settings)
        status, present = ask(self.settings, "/containers/json?" + own_filter(self.settings))
        if status != 200:
            raise Refused("the engine does not list its containers", 503)
        if len(present) >= self.settings.containers:
            raise Refused(f"there are {len(present)} containers already", 503)
        self.forward("POST", f"/containers/create?name={name}", written)

    def head(self, method, target, body, more):
        lines = [f"{method} {target} HTTP/1.1", "Host: engine", *more]
        if body or method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def forward(self, method, target, body=b""):
        """One request on a connection of its own; the answer is passed on as it comes."""
        with connect(self.settings.engine) as upstream:
            upstream.settimeout(120)
            upstream.sendall(self.head(method, target, body, ["Connection: close"]) + body)
            while data := upstream.recv(65536):
                self.wfile.write(data)

    def attach(self, target):
        """The container's own standard streams: after the engine's answer, bytes in both directions."""
        with connect(self.settings.engine) as upstream:
            upstream.sendall(self.head("POST", target, b"", ["Connection: Upgrade", "Upgrade: tcp"]))
            # A stream may be silent for as long as a model call takes.
            self.connection.settimeout(None)
            inwards = threading.Thread(target=self.pump_inwards, args=(upstream,), daemon=True)
            inwards.start()
            try:
                while data := upstream.recv(65536):
                    self.connection.sendall(data)
            finally:
                for end in (upstream, self.connection):
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
                inwards.join()

    def pump_inwards(self, upstream):
        try:
            # read1: what came together with the head is in the reader's buffer.
            while data := self.rfile.read1(65536):
                upstream.sendall(data)
            upstream.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def check(settings):
    """Whether the engine answers through the proxy's own socket."""
    connection = EngineConnection(settings.listen)
    connection.request("GET", "/_ping")
    return connection.getresponse().status == 200


def main():
    settings = Settings(os.environ)
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if check(settings) else 1)
    # Process 1 of a container ends by a signal only if it handles it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    Handler.settings = settings
    threading.stack_size(256 << 10)
    if os.path.exists(settings.listen):
        os.unlink(settings.listen)
    os.umask(0o117)  # the socket is for owner and group
    with Server(settings.listen, Handler) as server:
        print(f"listening for {settings.owner}: {', '.join(sorted(settings.images))}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
