# A hook or a check that kills the lead that waits for it, the nth time.
trial=$1 nth=$2
count=1
while ! mkdir "$trial/met-$count" 2>/dev/null; do
    count=$((count + 1))
    test "$count" -le "$nth" || exit 0
done
test "$count" = "$nth" || exit 0
echo "hook or check" >"$trial/sprung"
kill -9 $(cat "$trial"/lead-*.pid)
sleep 60
