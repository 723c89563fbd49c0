"""A teammate that knows nothing but the table of the wire."""
import json
import sys


def say(method, **params):
    print(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}), flush=True)


say("team.ready", name=sys.argv[1])
print("a line that some library prints", flush=True)
mail = []
for line in sys.stdin:
    message = json.loads(line)
    assert message["jsonrpc"] == "2.0", line
    method, params = message["method"], message["params"]
    if method == "team.message":
        mail.append(params["from"])
        say("team.message", to=params["from"], content=params["content"].upper())
    elif method == "team.updateContext":
        say("team.log", level="info", text="%d tasks" % len(params["tasks"]))
    elif method == "team.assignTask":
        task = params["task"]
        say("team.taskUpdate", taskId=task["id"], status="in_progress")
        say("team.taskUpdate", taskId=task["id"], status="completed", result="did " + task["subject"])
        say("team.idle", lastTask=task["id"])
    elif method == "team.shutdown":
        say("team.shutdownAck")
        break
