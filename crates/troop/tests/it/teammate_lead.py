"""A lead that shares no code with troop: it only speaks the documented protocol of teammates."""

import json
import subprocess
import sys

program, folder = sys.argv[1:]
teammate = subprocess.Popen(
    [program, "--mode", "teammate", "--team", "blue", "--name", "ann", "--agent", "command",
     "--lead-session", "python", "--path", folder],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(method, **params):
    teammate.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}) + "\n")
    teammate.stdin.flush()


def hear():
    while True:
        line = json.loads(teammate.stdout.readline())
        # Skip methods that the protocol of teammates does not have.
        if line["method"].startswith("team."):
            return line["method"], line["params"]


def hears(method, **params):
    heard, got = hear()
    assert heard == method, (heard, got)
    for name, value in params.items():
        assert got.get(name) == value, (name, value, got)


hears("team.ready", name="ann")
hears("team.idle")
say("team.updateContext", tasks=[])
say("team.message", **{"from": "bob", "content": "good luck"})
say("team.assignTask", task={"id": "t1", "subject": "say hello", "description": "echo hello > out; cat out"})
hears("team.taskUpdate", taskId="t1", status="in_progress")
hears("team.log", text="hello")
hears("team.taskUpdate", taskId="t1", status="completed", result="hello")
hears("team.idle", lastTask="t1")
say("team.shutdown", reason="done")
hears("team.shutdownAck")
assert teammate.wait(10) == 0
print("served")
