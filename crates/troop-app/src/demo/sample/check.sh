#!/bin/sh
# A hook: what changes the program is not done before its tests pass.
case "$HOOK_TEAM_TASK_SUBJECT" in
    "Add --top"*) ;;
    *) exit 0 ;;
esac
# Where the work is: each teammate has a folder of its own.
cd "${HOOK_TEAM_TASK_FOLDER:-.}" || exit 1
if ! out=$(python3 -B -m unittest 2>&1); then
    echo "the tests fail: $(echo "$out" | grep Error: | tail -n 1 | sed 's/.* : //')" >&2
    exit 2
fi
