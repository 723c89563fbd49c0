"""A teammate that knows nothing of troop but the table of methods. What it does is said by its agent's name."""
import json, os, signal, subprocess, sys, time

arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
name, agent = arguments["--name"], arguments["--agent"]


def say(method, **params):
    print(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}), flush=True)


if agent == "refuses-to-start":
    sys.exit("no licence")
if agent == "never-ready":
    time.sleep(600)
if agent == "tells-all":
    say("team.log", level="info", text=json.dumps([sys.argv[1:], dict(os.environ)]))
if agent == "ignores-term":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if agent == "leaves-children":
    child = "import time; time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
    subprocess.Popen([sys.executable, "-c", child])
say("team.ready", name=name)
say("team.idle")
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message["params"]
    if method == "team.assignTask":
        task = params["task"]
        say("team.taskUpdate", taskId=task["id"], status="in_progress")
        if name == "bob" and task["subject"] == "exit 3":
            sys.exit(3)
        if name == "bob" and task["subject"] == "be killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "bob" and task["subject"] == "vanish":
            sys.exit(0)
        if task["subject"] == "moan":
            for nth in range(20):
                print(f"{nth}: oh, " + "why " * 100, file=sys.stderr, flush=True)
            time.sleep(600)
        while task["subject"] == "wait" and not os.path.exists(arguments["--path"] + "/go"):
            time.sleep(0.01)
        if task["subject"] == "babble":
            os.write(1, b"\n\xff\xfe\n{\"half\": \nnot json at all\n[1]\n{}\n" + b"x" * 100000 + b"\n")
        say("team.taskUpdate", taskId=task["id"], status="completed", result=f"by {name}")
        say("team.idle", lastTask=task["id"])
    elif method == "team.message":
        say("team.message", to=params["from"], content="heard: " + params["content"])
    elif method == "team.shutdown" and agent not in ("ignores-term", "ignores-shutdown"):
        say("team.shutdownAck")
        break
