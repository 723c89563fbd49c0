# The work of a task. It tells the judge when it begins and ends.
trial=$1 team=$2 n=$3 work=$4 pause=$5
echo "begin $team $n $$ $TROOP_AS" >>"$trial/errands"
sleep "$pause"
base=HEAD
# After a refusal it does what troop says: it merges what others did, and does its work again on that.
# A lead that is killed while it begins may leave a branch behind: the newest is the team's.
branch=$(git for-each-ref --sort=-version:refname --format='%(refname:short)' \
    "refs/heads/troop/$team" "refs/heads/troop/$team+*" | head -n 1)
if test -n "$(git rev-list "$branch..HEAD")"; then
    git -c user.name=w -c user.email=w@localhost merge --quiet --no-edit -X theirs "$branch"
    base=$branch
fi

# Adds a line to a file as it was when the work began.
add() {
    { git show "$base:$1" 2>/dev/null; echo "$2"; } >"$1.half" && mv "$1.half" "$1"
}

mkdir -p out
add "out/$team-$n" "line $n"
case $work in
shared) add "shared-$team" "line $n" ;;
same) echo "$team" >same ;;
fails-first) mkdir "$trial/failed-$team-$n" 2>/dev/null && exit 1 ;;
commits) git add --all && git -c user.name=w -c user.email=w@localhost commit --quiet --message "by hand $n" ;;
leaves-process) (setsid sleep 300 >/dev/null 2>&1 &) ;;
esac
sleep "$pause"
echo "end $team $n $$ $TROOP_AS" >>"$trial/errands"
echo "did $n"
