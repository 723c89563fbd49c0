"""A teammate that knows nothing but the files of a team.

    member.py FOLDER TEAM LAYOUT NAME claim N        claims tasks until N tasks are claimed by somebody
    member.py FOLDER TEAM LAYOUT NAME send TO N      puts N messages into an inbox
    member.py FOLDER TEAM LAYOUT NAME receive N      takes N different messages and prints what they say
"""

import contextlib
import datetime
import fcntl
import glob
import json
import os
import sys
import time
import uuid

FOLDER, TEAM, LAYOUT, NAME = sys.argv[1:5]
# `seeds` locks task-7.lock, `seeds:long` locks task-7.json.lock.
LAYOUT, _, LOCK = LAYOUT.partition(":")
TASKS = os.path.join(FOLDER, "tasks", TEAM)


@contextlib.contextmanager
def locked(path):
    """The lock that belongs to a file."""
    if LAYOUT == "seeds":
        # Programs that work together agree on one of two names.
        name = (path if LOCK == "long" else path[: -len(".json")]) + ".lock"
        with open(name, "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        return
    while True:
        try:
            os.mkdir(path + ".lock")
            break
        except FileExistsError:
            time.sleep(0.001)
    try:
        yield
    finally:
        os.rmdir(path + ".lock")


def write(path, value):
    half = f"{path}.tmp.{uuid.uuid4().hex}"
    with open(half, "w") as file:
        json.dump(value, file)
    os.rename(half, path)


def read(path):
    while True:
        try:
            with open(path) as file:
                return json.load(file)
        except json.JSONDecodeError:
            time.sleep(0.001)


def owner_of(task):
    return task.get("claimed_by") if LAYOUT == "seeds" else task.get("owner")


def claim(path):
    with locked(path):
        task = read(path)
        if task["status"] != "pending" or owner_of(task):
            return False
        if LAYOUT == "seeds":
            task["status"], task["claimed_by"] = "claimed", NAME
        else:
            task["status"], task["owner"] = "in_progress", NAME
        write(path, task)
        return True


def claim_all(n_tasks):
    claimed = []
    while True:
        paths = sorted(glob.glob(os.path.join(TASKS, "*.json")))
        for path in paths:
            if claim(path):
                claimed.append(os.path.basename(path)[: -len(".json")])
        if sum(1 for path in paths if owner_of(read(path))) >= n_tasks:
            break
    print(json.dumps(claimed))


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def send(to, n_messages):
    team = os.path.join(FOLDER, "teams", TEAM)
    for nth in range(n_messages):
        text = f"{NAME} says {nth}"
        if LAYOUT == "seeds":
            message = {"id": f"msg-{uuid.uuid4()}", "from": NAME, "to": to, "type": "direct"}
            message |= {"content": text, "timestamp": now()}
            write(os.path.join(team, "inbox", to, message["id"] + ".json"), message)
            continue
        path = os.path.join(team, "inboxes", to + ".json")
        with locked(path):
            entries = read(path) if os.path.exists(path) else []
            entries.append({"from": NAME, "text": text, "timestamp": now(), "read": False})
            write(path, entries)


def receive(n_messages):
    team, taken = os.path.join(FOLDER, "teams", TEAM), {}
    while len(taken) < n_messages:
        if LAYOUT == "seeds":
            for path in glob.glob(os.path.join(team, "inbox", NAME, "*.json")):
                message = read(path)
                taken[message.get("id", path)] = message["content"]
                os.remove(path)
        else:
            path = os.path.join(team, "inboxes", NAME + ".json")
            if not os.path.exists(path):
                continue
            with locked(path):
                entries = read(path)
                taken |= {it["msg_id"]: it["text"] for it in entries if "msg_id" in it}
                write(path, [it for it in entries if "msg_id" not in it])
        time.sleep(0.001)
    print(json.dumps(sorted(taken.values())))


match sys.argv[5:]:
    case ["claim", n_tasks]:
        claim_all(int(n_tasks))
    case ["send", to, n_messages]:
        send(to, int(n_messages))
    case ["receive", n_messages]:
        receive(int(n_messages))
