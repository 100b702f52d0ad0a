#!/usr/bin/env bash
# A random player for `samedeal bot RACE --exec ./random_bot.sh` in bash.
while read -r line; do
    [[ $line == '{"t":"state"'* && $line =~ \"moves\":\[([^]]*)\] ]] || continue
    IFS=, read -ra moves <<<"${BASH_REMATCH[1]//\"/}"
    if ((${#moves[@]} && ++played < 400)); then
        echo "${moves[RANDOM % ${#moves[@]}]}"
    else
        echo resign
    fi
done
