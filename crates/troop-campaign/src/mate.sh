# A teammate that is not troop: it speaks the wire protocol, keeps a record, and mixes in garbage.
# Its first argument is the number of teammates.
n_mates=$1
shift
name=
while [ $# -gt 0 ]; do
    case "$1" in --name) name=$2 ;; esac
    shift
done
n=0

garbage() {
    n=$((n + 1))
    case $(((n + $$) % 11)) in
    0) printf '\n' ;;
    1) printf 'not json at all\n' ;;
    2) printf '{"jsonrpc":"2.0","method":"team.\n' ;;
    3) printf '{"jsonrpc":"2.0"}\n' ;;
    4) printf '\377\376\000\001\n' ;;
    5) printf '{"jsonrpc":"2.0","method":"team.taskUpdate","params":{"taskId":"task-1","status":"completed","result":"a lie","attempt":0}}\n' ;;
    6) printf '{"jsonrpc":"2.0","method":"team.taskUpdate","params":{"taskId":"task-9999","status":"in_progress"}}\n' ;;
    7) printf '{"jsonrpc":"2.0","method":"team.message","params":{"to":"nobody","content":"?"}}\n' ;;
    8) printf '{"jsonrpc":"2.0","id":"no","method":"member/remove","params":{"member":"lead"}}\n' ;;
    9) printf '[1,2,3]\n{"jsonrpc":"2.0","method":7}\n' ;;
    # Most are long; some are longer than any line may be.
    10) head -c $((n % 3 ? 70000 : 17000000)) /dev/zero | tr '\0' 'x' && printf '\n' ;;
    esac
}

# Another teammate, a different one each time.
other() {
    printf 'mate-%s' $(((${name#mate-} + 1 + n % (n_mates - 1)) % n_mates))
}

printf '{"jsonrpc":"2.0","method":"team.ready","params":{"name":"%s","acknowledges":true}}\n' "$name"
printf '{"jsonrpc":"2.0","method":"team.idle","params":{}}\n'
while IFS= read -r line; do
    rest=${line#*\"id\":\"}
    id=${rest%%\"*}
    case "$line" in
    *'"method":"team.assignTask"'*)
        rest=${line#*\"attempt\":}
        attempt=${rest%%[!0-9]*}
        garbage
        sleep 0.03
        printf '%s\n' "$$" >>"done-$id"
        printf '{"jsonrpc":"2.0","method":"team.taskUpdate","params":{"taskId":"%s","status":"completed","result":"by %s","attempt":%s}}\n' "$id" "$$" "$attempt"
        printf '{"jsonrpc":"2.0","id":"%s","method":"message/send","params":{"to":"%s","kind":"message","content":"%s %s %s"}}\n' "$id-$attempt" "$(other)" "$name" "$$" "$id-$attempt"
        printf '{"jsonrpc":"2.0","method":"team.idle","params":{"lastTask":"%s"}}\n' "$id"
        ;;
    *'"method":"team.message"'*'"id":"'*)
        printf '%s %s\n' "$$" "$id" >>"seen-$name"
        garbage
        printf '{"jsonrpc":"2.0","method":"message/read","params":{"messages":["%s"]}}\n' "$id"
        ;;
    *'"method":"team.shutdown"'*)
        printf '{"jsonrpc":"2.0","method":"team.shutdownAck","params":{}}\n'
        exit 0
        ;;
    *'"result":'*) printf '%s %s %s\n' "$name" "$$" "$id" >>sent ;;
    esac
done
