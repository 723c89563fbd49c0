#!/bin/sh
# Stands before git on the path of leads. Does what git does, and at one command of a lead what the trial wants.
# The lines before these set: real, trial, n_teams, words, nth, deed, lock, after.

is_lead() {
    case " $(cat "$trial"/lead-*.pid 2>/dev/null | tr '\n' ' ') " in *" $PPID "*) ;; *) return 1 ;; esac
}

# The nth time, for one process only.
is_time() {
    count=1
    while ! mkdir "$trial/met-$count" 2>/dev/null; do
        count=$((count + 1))
        test "$count" -le "$nth" || return 1
    done
    test "$count" = "$nth"
}

leave_lock() {
    own=$("$real" rev-parse --absolute-git-dir)
    shared=$("$real" rev-parse --path-format=absolute --git-common-dir)
    branch=$("$real" symbolic-ref --quiet HEAD)
    for word in "$@"; do
        case $word in refs/heads/*) branch=$word ;; esac
    done
    case $lock in
    index) path=$own/index.lock ;;
    head) path=$own/HEAD.lock ;;
    branch) path=$shared/${branch:-HEAD}.lock ;;
    packed-refs) path=$shared/packed-refs.lock ;;
    esac
    mkdir -p "${path%/*}"
    : >"$path"
}

cut() {
    "$real" "$@" &
    started=$!
    sleep "$after"
    kill -9 "$started"
    wait "$started"
}

if test -e "$trial/cut-next" && is_lead && mv "$trial/cut-next" "$trial/cut-$$" 2>/dev/null; then
    after=$(cat "$trial/cut-$$")
    cut "$@" 2>/dev/null
    kill -9 $$
fi
# Waits half a second at most, because only one team at a time may come here.
gather() {
    : >"$trial/here-$PPID"
    count=0
    while test "$count" -lt 50 && test "$(ls "$trial" | grep -c '^here-')" -lt "$n_teams"; do
        count=$((count + 1))
        sleep 0.01
    done
}

case "$*" in
*"$words"*)
    if test "$deed" = gather && is_lead; then
        gather
    elif test -n "$words" && is_lead && is_time; then
        echo "$*" >"$trial/sprung"
        case $deed in
        before) kill -9 "$PPID"; exit 1 ;;
        after) "$real" "$@"; kill -9 "$PPID"; exit 0 ;;
        lock) leave_lock "$@"; kill -9 $$ ;;
        lock-with-lead) leave_lock "$@"; kill -9 "$PPID"; kill -9 $$ ;;
        cut) cut "$@" 2>/dev/null; kill -9 $$ ;;
        cut-with-lead) cut "$@" 2>/dev/null; kill -9 "$PPID"; kill -9 $$ ;;
        full) while ! test -e "$trial/go-on"; do sleep 0.01; done ;;
        esac
    fi
    ;;
esac
exec "$real" "$@"
