#!/bin/sh
# Merges what the others did, and where both changed the end of a file, keeps both.
git merge --quiet troop/tally
sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' "$1"
