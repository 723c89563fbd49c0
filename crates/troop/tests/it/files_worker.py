"""A program that works in a team of files, and writes down what it believes to have done.

    files_worker.py FOLDER TEAM LAYOUT NAME N      works until N tasks are completed, then prints its beliefs

It knows nothing but the files: it locks a task, looks again under the lock, writes its claim and renames it into place. Some
milliseconds later it completes the task under the same lock, if it still has it. It prints {"claimed", "completed", "lost"}.
"""

import contextlib
import fcntl
import glob
import json
import os
import random
import sys
import time
import uuid

FOLDER, TEAM, LAYOUT, NAME, N_TASKS = sys.argv[1:6]
# `seeds` locks task-7.lock, `seeds:long` locks task-7.json.lock.
LAYOUT, _, LOCK = LAYOUT.partition(":")
TASKS = os.path.join(FOLDER, "tasks", TEAM)
OWNER = "claimed_by" if LAYOUT == "seeds" else "owner"


@contextlib.contextmanager
def locked(path):
    if LAYOUT == "seeds":
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


def read(path):
    with open(path) as file:
        return json.load(file)


def write(path, value):
    half = f"{path}.tmp.{uuid.uuid4().hex}"
    with open(half, "w") as file:
        json.dump(value, file)
    os.rename(half, path)


def number(path):
    return int(os.path.basename(path)[: -len(".json")].removeprefix("task-"))


claimed, completed, lost = [], [], []
deadline = time.time() + 50
while time.time() < deadline:
    paths = glob.glob(os.path.join(TASKS, "*.json"))
    random.shuffle(paths)
    n_over = 0
    for path in paths:
        task = read(path)
        n_over += task["status"] in ("completed", "done")
        if task["status"] != "pending" or task.get(OWNER):
            continue
        with locked(path):
            task = read(path)
            if task["status"] != "pending" or task.get(OWNER):
                continue
            task["status"], task[OWNER] = "in_progress", NAME
            write(path, task)
        claimed.append(number(path))
        time.sleep(0.02)
        with locked(path):
            task = read(path)
            if task["status"] not in ("in_progress", "claimed") or task.get(OWNER) != NAME:
                lost.append(number(path))
                continue
            task["status"] = "completed"
            write(path, task)
        completed.append(number(path))
    if n_over >= int(N_TASKS):
        break
    time.sleep(0.005)
print(json.dumps({"claimed": claimed, "completed": completed, "lost": lost}))
