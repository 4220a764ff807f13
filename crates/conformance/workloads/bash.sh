# What scripts for bash do beyond sh.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
declare -A words=([one]=1 [two]=2)
list=(c a b); printf '%s\n' "${list[@]}" | sort; echo "${#list[@]} ${words[two]} ${!words[*]}" | wc -w
diff <(seq 1 3) <(seq 2 4) || echo "differs $?"
coproc CAT { cat; }; echo through >&"${CAT[1]}"; read -r line <&"${CAT[0]}"; echo "$line"
exec {CAT[1]}>&-; wait "$CAT_PID" || true
mapfile -t lines < <(printf 'x\ny\n'); echo "${lines[1]} ${#lines[@]}"
[[ abc-123 =~ ([a-z]+)-([0-9]+) ]] && echo "${BASH_REMATCH[2]}"
read -r -t 1 word <<<"a string"; echo "$word"; printf -v padded '%05d' 42; echo "$padded"
(kill -SEGV $BASHPID) 2>/dev/null || echo "signal $?"
set -m; sleep 0.05 & jobs | wc -l; wait; set +m
shopt -s globstar nullglob; mkdir -p d/e; touch d/e/f.txt; echo **/*.txt
time_start=$EPOCHSECONDS; ((EPOCHSECONDS - time_start < 60)) && echo soon
echo {1..5} | xargs -n 2 -P 2 echo | sort
exec 9>lock; flock 9 && echo locked; tee copy <<<tee >/dev/null; cat copy
