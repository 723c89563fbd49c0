# The work of a task. It tells the judge when it begins and ends.
trial=$1 team=$2 n=$3 work=$4 pause=$5
echo "begin $team $n $$ $TROOP_AS" >>"$trial/errands"
sleep "$pause"
mkdir -p out
echo "line $n" >>"out/$team-$n"
case $work in
shared) echo "line $n" >>"shared-$team" ;;
same) echo "$team" >same ;;
fails-first) mkdir "$trial/failed-$team-$n" 2>/dev/null && exit 1 ;;
commits) git add --all && git -c user.name=w -c user.email=w@localhost commit --quiet --message "by hand $n" ;;
leaves-process) (setsid sleep 300 >/dev/null 2>&1 &) ;;
esac
sleep "$pause"
echo "end $team $n $$ $TROOP_AS" >>"$trial/errands"
echo "did $n"
