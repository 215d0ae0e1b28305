"""The checks of a harness before it is run on questions: static, then one dry call. Each runs in a child of its own."""

import re

import child
from child import FILE, Env, ToolError, compile_harness, described, load

LEVEL = (3, 11)


def static_check(channel, source, forbidden):
    """Compiles and walks the syntax tree; tells the first fault."""
    code, message, line = static_fault(source, frozenset(forbidden))
    channel.send({"type": "verdict", "code": code, "message": message, "line": line})


def static_fault(source, forbidden):
    global ast
    import ast  # here, since a container that answers questions does without it

    _, error = compile_harness(source)
    if error is None:
        try:
            tree = ast.parse(source.removeprefix("\ufeff"), FILE, feature_version=LEVEL)
        except BaseException as e:  # noqa: B902: see compile_harness
            line = e.lineno if isinstance(e, SyntaxError) else None
            error = {"type": type(e).__name__, "message": str(e), "frames": [{"line": line}] if line else []}
    if error is not None:
        line = error["frames"][-1]["line"] if error["frames"] else None
        where = f" (line {line})" if line else ""
        return "SYNTAX_ERROR", f"{error['type']}: {error['message']}{where}", line
    faults = [
        (node.lineno, name)
        for node in ast.walk(tree)
        for name in imported(node)
        if name.partition(".")[0].lstrip("_") in forbidden
    ]
    if faults:
        line, name = min(faults)
        return "FORBIDDEN_CONSTRUCT", f"Line {line}: importing {name} is not allowed", line
    if not any(is_entry_point(node) for node in tree.body):
        return "MISSING_ENTRY_POINT", "The harness has no top-level def run(question, env)", None
    return None, None, None


def imported(node):
    """Names of the modules that a node imports by a literal name."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)
        if name in ("__import__", "import_module") and isinstance(node.args[0].value, str):
            return [node.args[0].value]
    return []


def is_entry_point(node):
    """A plain def run that takes (question, env) by position."""
    if not isinstance(node, ast.FunctionDef) or node.name != "run":
        return False
    arguments = node.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    required = positional - len(arguments.defaults)
    keywords_required = any(default is None for default in arguments.kw_defaults)
    return required <= 2 and (positional >= 2 or arguments.vararg is not None) and not keywords_required


class DryRunOver(BaseException):
    """The dry call has made as many model calls as a question may: it ends there and passes."""


SIGNATURE_ERROR = re.compile(r"(Env\.(llm|tool|python|search|log)|run)\(\) (got|missing|takes) ")


def smoke(channel, question, canned, tools, source):
    """Imports the module and calls run once with canned replies; tells the fault, if it is the program's. A tool that gives
    JSON gives an empty object here: its real results are not known, and what the program makes of this one is no fault."""
    child.add_packages()
    code, _ = compile_harness(source)
    try:
        module = load(code, source)
    except BaseException as e:  # noqa: B902: whatever a module raises on import
        return tell_fault(channel, "IMPORT_ERROR", "on import", described(e, source))
    calls = [0]

    def call(frame):
        calls[0] += 1
        if calls[0] > canned["calls"]:
            raise DryRunOver
        if frame["type"] == "tool":
            if frame["name"] not in tools:
                known = ", ".join(sorted(tools)) or "none"
                message = f"env.tool: there is no tool {frame['name']!r}; known: {known}"
                return {"type": "raise", "message": message, "kind": "unknown", "status": None}
            json = tools[frame["name"]] == "json"
            return {"type": "reply", "text": "{}" if json else canned["reply"], "json": json}
        return {"type": "reply", "text": canned["reply"]}

    try:
        module.run(question, Env(call, lambda frame: None))
    except BaseException as e:  # noqa: B902: any exception is judged
        if is_program_fault(e, canned["reply"]):
            return tell_fault(channel, "SMOKE_ERROR", "in a dry call of run", described(e, source))
    channel.send({"type": "verdict", "code": None, "message": None, "line": None})


def is_program_fault(e, reply):
    """Faults that lie in the program whatever the question and the replies are. A ValueError, an IndexError, an attribute
    of None and the like can come from the canned reply's text, and pass."""
    if isinstance(e, (NameError, ImportError)):
        return True
    if isinstance(e, ToolError):
        return e.kind == "unknown"
    if isinstance(e, AttributeError):
        return isinstance(e.obj, (Env, child.Result, child.Passage)) or (type(e.obj) is str and e.obj == reply)
    return isinstance(e, TypeError) and SIGNATURE_ERROR.match(str(e)) is not None


def tell_fault(channel, code, where, error):
    line = error["frames"][-1]["line"] if error["frames"] else None
    text = f", line {line}: {error['frames'][-1]['text']}" if line else ""
    message = f"{error['type']} {where}: {error['message']}{text}"
    channel.send({"type": "verdict", "code": code, "message": message, "line": line})
